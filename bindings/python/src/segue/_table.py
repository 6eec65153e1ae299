# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C interface as one table: the declarations of `include/segue.h`, in its order.

Made by `bindings/api --write`. `tests/test_table.py` compares each row with `segue-api.json`.
"""

from __future__ import annotations

from ctypes import (
    CFUNCTYPE,
    c_bool,
    c_char_p,
    c_double,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERSION = 0x000100
"""SEGUE_VERSION of the header that this table was made from."""

NUL_TERMINATED = c_size_t(-1).value
MESSAGE_SIZE = 512
ID_SIZE = 16

Bool = c_bool
Int32 = c_int32
Int64 = c_int64
UInt32 = c_uint32
UInt64 = c_uint64
Double = c_double
Size = c_size_t
Status = c_int32

Handle = c_void_p
"""A ticket: segue_app * and its like."""
Bytes = c_char_p
"""Bytes that the library only reads; a length goes with them."""
Address = c_void_p
"""Memory that the library writes to, memory of the library, or a context."""

DESTROY = CFUNCTYPE(None, Address)
LOG = CFUNCTYPE(None, Address, Int32, Address, Size)
WILL_SAVE = CFUNCTYPE(Int32, Address, Handle, Handle)
RECEIPT = CFUNCTYPE(None, Address, Handle, Handle)
DID_RECEIVE_STREAM = CFUNCTYPE(None, Address, Handle, Handle)
REQUEST = CFUNCTYPE(None, Address, Handle, Handle, Address, Size)
WILL_RESUME_BACK = CFUNCTYPE(Int32, Address, Handle, Bool, Handle)
DID_RESUME_BACK = CFUNCTYPE(None, Address, Handle, Bool)
LINK = CFUNCTYPE(None, Address, Handle, Address, Size, Handle)
EXPLAIN = CFUNCTYPE(None, Address, Handle, Handle)
OFFER = CFUNCTYPE(None, Address, Handle, Int32, Handle)
CONNECTION = CFUNCTYPE(None, Address, Handle, Int32)
WILL_CONTINUE = CFUNCTYPE(None, Address, Handle, Address, Size, Handle)
CONTINUE = CFUNCTYPE(Int32, Address, Handle, Handle, Handle)
DID_FAIL = CFUNCTYPE(None, Address, Handle, Address, Size, Handle, Handle)
RESTORE_STATE = CFUNCTYPE(Bool, Address, Handle)
RESUME_BACK = CFUNCTYPE(None, Address, Handle, Bool, Handle)
STREAM = CFUNCTYPE(None, Address, Handle, Handle, Handle)
STREAM_RESULT = CFUNCTYPE(None, Address, Handle, Int32, UInt32)
RESPONSE = CFUNCTYPE(None, Address, Handle, Address, Size, Handle)
PROGRESS = CFUNCTYPE(None, Address, Handle, UInt64, UInt64)
FETCHED = CFUNCTYPE(None, Address, Handle, Handle)
DID_UPDATE = CFUNCTYPE(None, Address, Handle, Handle)
ACTIVITY_CHANGED = CFUNCTYPE(None, Address, Handle, Handle, Handle)
OPEN_DOCUMENT = CFUNCTYPE(Int32, Address, Handle, Address, Size, Handle, Handle)
DELETION = CFUNCTYPE(None, Address, Handle, Size, Handle)
LAUNCH = CFUNCTYPE(None, Address)

CALLBACKS: dict[str, Any] = {
    "segue_destroy": DESTROY,
    "segue_log_function": LOG,
    "segue_will_save_function": WILL_SAVE,
    "segue_receipt_function": RECEIPT,
    "segue_did_receive_stream_function": DID_RECEIVE_STREAM,
    "segue_request_function": REQUEST,
    "segue_will_resume_back_function": WILL_RESUME_BACK,
    "segue_did_resume_back_function": DID_RESUME_BACK,
    "segue_link_function": LINK,
    "segue_explain_function": EXPLAIN,
    "segue_offer_function": OFFER,
    "segue_connection_function": CONNECTION,
    "segue_will_continue_function": WILL_CONTINUE,
    "segue_continue_function": CONTINUE,
    "segue_did_fail_function": DID_FAIL,
    "segue_restore_state_function": RESTORE_STATE,
    "segue_resume_back_function": RESUME_BACK,
    "segue_stream_function": STREAM,
    "segue_stream_result_function": STREAM_RESULT,
    "segue_response_function": RESPONSE,
    "segue_progress_function": PROGRESS,
    "segue_fetched_function": FETCHED,
    "segue_did_update_function": DID_UPDATE,
    "segue_activity_changed_function": ACTIVITY_CHANGED,
    "segue_open_document_function": OPEN_DOCUMENT,
    "segue_deletion_function": DELETION,
    "segue_launch_function": LAUNCH,
}
"""The callback types of the header by name."""

FUNCTIONS: tuple[tuple[str, tuple[Any, ...], Any], ...] = (
    ("segue_retain", (Handle,), Status),
    ("segue_release", (Handle,), Status),
    ("segue_version", (), UInt32),
    ("segue_status_name", (Status,), Bytes),
    ("segue_status_foundation_code", (Status,), Status),
    ("segue_last_error", (Address, Size), Status),
    ("segue_free", (Address,), None),
    ("segue_limit_get", (Int32, Address), Status),
    ("segue_limit_set", (Int32, UInt64), Status),
    ("segue_log_set", (Int32, LOG, Address, DESTROY), Status),
    ("segue_debug_live_handles", (Address,), Status),
    ("segue_value_decode", (Bytes, Size, Address), Status),
    ("segue_value_encode", (Handle, Address, Address), Status),
    ("segue_value_describe", (Handle, Address, Address), Status),
    ("segue_value_get_kind", (Handle, Address), Status),
    ("segue_value_get_count", (Handle, Address), Status),
    ("segue_value_is_equal", (Handle, Handle, Address), Status),
    ("segue_dictionary_get_bool", (Handle, Bytes, Size, Address), Status),
    ("segue_dictionary_get_int64", (Handle, Bytes, Size, Address), Status),
    ("segue_dictionary_get_double", (Handle, Bytes, Size, Address), Status),
    ("segue_dictionary_get_date", (Handle, Bytes, Size, Address), Status),
    ("segue_dictionary_get_string", (Handle, Bytes, Size, Address, Address), Status),
    ("segue_dictionary_get_data", (Handle, Bytes, Size, Address, Address), Status),
    ("segue_dictionary_get_value", (Handle, Bytes, Size, Address), Status),
    ("segue_array_get_value", (Handle, Size, Address), Status),
    ("segue_value_find_bool", (Handle, Bytes, Size, Address), Status),
    ("segue_value_find_int64", (Handle, Bytes, Size, Address), Status),
    ("segue_value_find_double", (Handle, Bytes, Size, Address), Status),
    ("segue_value_find_date", (Handle, Bytes, Size, Address), Status),
    ("segue_value_find_string", (Handle, Bytes, Size, Address, Address), Status),
    ("segue_value_find_data", (Handle, Bytes, Size, Address, Address), Status),
    ("segue_value_find_value", (Handle, Bytes, Size, Address), Status),
    ("segue_dictionary_find", (Handle, Handle, Address), Status),
    ("segue_writer_create", (Address,), Status),
    ("segue_writer_put_null", (Handle,), Status),
    ("segue_writer_put_bool", (Handle, Bool), Status),
    ("segue_writer_put_int64", (Handle, Int64), Status),
    ("segue_writer_put_uint64", (Handle, UInt64), Status),
    ("segue_writer_put_double", (Handle, Double), Status),
    ("segue_writer_put_string", (Handle, Bytes, Size), Status),
    ("segue_writer_put_data", (Handle, Bytes, Size), Status),
    ("segue_writer_put_date", (Handle, Double), Status),
    ("segue_writer_put_url", (Handle, Bytes, Size), Status),
    ("segue_writer_put_uuid", (Handle, Bytes), Status),
    ("segue_writer_put_value", (Handle, Handle), Status),
    ("segue_writer_begin", (Handle, Int32), Status),
    ("segue_writer_end", (Handle,), Status),
    ("segue_writer_finish", (Handle, Address), Status),
    ("segue_reader_create", (Handle, Address), Status),
    ("segue_reader_next", (Handle, Address, Address, Size), Status),
    ("segue_reader_copy", (Handle, Address, Size), Status),
    ("segue_reader_take", (Handle, Address), Status),
    ("segue_value_decode_json", (Bytes, Size, Int32, Address), Status),
    ("segue_value_encode_json", (Handle, Int32, Address, Address), Status),
    ("segue_activity_create", (Handle, Bytes, Size, Address), Status),
    ("segue_activity_decode", (Handle, Bytes, Size, Address), Status),
    ("segue_activity_encode", (Handle, Address, Address), Status),
    ("segue_activity_describe", (Handle, Address, Address), Status),
    ("segue_activity_validate", (Handle, Address), Status),
    ("segue_activity_become_current", (Handle,), Status),
    ("segue_activity_resign_current", (Handle,), Status),
    ("segue_activity_invalidate", (Handle,), Status),
    ("segue_activity_get_current", (Handle, Address), Status),
    ("segue_activity_get_valid", (Handle, Address), Status),
    ("segue_activity_set_delegate", (Handle, Handle), Status),
    ("segue_activity_get_id", (Handle, Address), Status),
    ("segue_activity_get_type", (Handle, Address, Address), Status),
    ("segue_activity_set_title", (Handle, Bytes, Size), Status),
    ("segue_activity_get_title", (Handle, Address, Address), Status),
    ("segue_activity_set_webpage_url", (Handle, Bytes, Size), Status),
    ("segue_activity_get_webpage_url", (Handle, Address, Address), Status),
    ("segue_activity_set_referrer_url", (Handle, Bytes, Size), Status),
    ("segue_activity_get_referrer_url", (Handle, Address, Address), Status),
    ("segue_activity_set_target_content_identifier", (Handle, Bytes, Size), Status),
    ("segue_activity_get_target_content_identifier", (Handle, Address, Address), Status),
    ("segue_activity_set_persistent_identifier", (Handle, Bytes, Size), Status),
    ("segue_activity_get_persistent_identifier", (Handle, Address, Address), Status),
    ("segue_activity_set_user_info", (Handle, Handle), Status),
    ("segue_activity_get_user_info", (Handle, Address), Status),
    ("segue_activity_add_user_info_entries", (Handle, Handle), Status),
    ("segue_activity_set_user_info_cbor", (Handle, Bytes, Size), Status),
    ("segue_activity_get_user_info_cbor", (Handle, Address, Address), Status),
    ("segue_activity_set_user_info_json", (Handle, Bytes, Size, Int32), Status),
    ("segue_activity_get_user_info_json", (Handle, Int32, Address, Address), Status),
    ("segue_activity_set_required_user_info_keys", (Handle, Handle), Status),
    ("segue_activity_get_required_user_info_keys", (Handle, Address), Status),
    ("segue_activity_set_keywords", (Handle, Handle), Status),
    ("segue_activity_get_keywords", (Handle, Address), Status),
    ("segue_activity_set_needs_save", (Handle, Bool), Status),
    ("segue_activity_get_needs_save", (Handle, Address), Status),
    ("segue_activity_set_expiration_date", (Handle, Double), Status),
    ("segue_activity_get_expiration_date", (Handle, Address), Status),
    ("segue_activity_set_supports_continuation_streams", (Handle, Bool), Status),
    ("segue_activity_get_supports_continuation_streams", (Handle, Address), Status),
    ("segue_activity_set_private", (Handle, Bool), Status),
    ("segue_activity_get_private", (Handle, Address), Status),
    ("segue_activity_set_public", (Handle, Bool), Status),
    ("segue_activity_get_public", (Handle, Address), Status),
    ("segue_activity_set_keeps_offering", (Handle, Bool), Status),
    ("segue_activity_get_keeps_offering", (Handle, Address), Status),
    ("segue_activity_set_payload_version", (Handle, UInt32), Status),
    ("segue_activity_get_payload_version", (Handle, Address), Status),
    ("segue_activity_set_eligible", (Handle, Int32, Bool), Status),
    ("segue_activity_get_eligible", (Handle, Int32, Address), Status),
    ("segue_activity_get_continued_from", (Handle, Address), Status),
    ("segue_activity_delegate_create", (Address, DESTROY, Address), Status),
    ("segue_activity_delegate_on_will_save", (Handle, WILL_SAVE), Status),
    ("segue_activity_delegate_on_was_continued", (Handle, RECEIPT), Status),
    ("segue_activity_delegate_on_continuation_ended", (Handle, RECEIPT), Status),
    ("segue_activity_delegate_on_will_resume_back", (Handle, WILL_RESUME_BACK), Status),
    ("segue_activity_delegate_on_did_resume_back", (Handle, DID_RESUME_BACK), Status),
    ("segue_activity_delegate_on_did_receive_stream", (Handle, DID_RECEIVE_STREAM), Status),
    ("segue_activity_delegate_on_request", (Handle, REQUEST), Status),
    ("segue_activity_delegate_leave", (Handle,), Status),
    ("segue_save_complete", (Handle,), Status),
    ("segue_save_fail", (Handle, Bytes, Size), Status),
    ("segue_receipt_get_outcome", (Handle, Address), Status),
    ("segue_receipt_get_status", (Handle, Address), Status),
    ("segue_receipt_get_reason", (Handle, Address, Address), Status),
    ("segue_receipt_get_device_name", (Handle, Address, Address), Status),
    ("segue_receipt_get_app_name", (Handle, Address, Address), Status),
    ("segue_receipt_get_bundle_identifier", (Handle, Address, Address), Status),
    ("segue_receipt_get_continuation_id", (Handle, Address), Status),
    ("segue_receipt_get_date", (Handle, Address), Status),
    ("segue_receipt_get_stale", (Handle, Address), Status),
    ("segue_app_create", (Bytes, Size, Address), Status),
    ("segue_app_set_name", (Handle, Bytes, Size), Status),
    ("segue_app_set_team_identifier", (Handle, Bytes, Size), Status),
    ("segue_app_add_activity_type", (Handle, Bytes, Size), Status),
    ("segue_app_load_manifest", (Handle, Bytes, Size), Status),
    ("segue_app_set_chooser", (Handle, Bool), Status),
    ("segue_app_set_delivery", (Handle, Int32), Status),
    ("segue_app_set_runtime_folder", (Handle, Bytes, Size), Status),
    ("segue_app_set_offers_frontmost_only", (Handle, Bool), Status),
    ("segue_app_set_save_policy", (Handle, Int32), Status),
    ("segue_app_set_label", (Handle, Bytes, Size), Status),
    ("segue_app_set_delegate", (Handle, Handle), Status),
    ("segue_app_set_activity_delegate", (Handle, Handle), Status),
    ("segue_app_open", (Handle,), Status),
    ("segue_app_close", (Handle,), Status),
    ("segue_app_dispatch", (Handle, Int32, Address), Status),
    ("segue_app_wake", (Handle,), Status),
    ("segue_app_fd", (Handle, Address), Status),
    ("segue_app_set_foreground", (Handle, Bool), Status),
    ("segue_app_get_connection", (Handle, Address, Address, Address, Address), Status),
    ("segue_app_get_offers", (Handle, Address, Size, Address), Status),
    ("segue_app_describe", (Handle, Address, Address), Status),
    ("segue_app_link", (Handle, Int32, UInt32, LINK, Address, DESTROY, Address), Status),
    ("segue_link_cancel", (Handle,), Status),
    ("segue_activity_explain", (Handle, EXPLAIN, Address, DESTROY), Status),
    ("segue_app_delegate_create", (Address, DESTROY, Address), Status),
    ("segue_app_delegate_on_offer", (Handle, OFFER), Status),
    ("segue_app_delegate_on_connection", (Handle, CONNECTION), Status),
    ("segue_app_delegate_on_will_continue", (Handle, WILL_CONTINUE), Status),
    ("segue_app_delegate_on_continue", (Handle, CONTINUE), Status),
    ("segue_app_delegate_on_did_fail", (Handle, DID_FAIL), Status),
    ("segue_error_get_status", (Handle, Address), Status),
    ("segue_error_get_message", (Handle, Address, Address), Status),
    ("segue_offer_get_id", (Handle, Address), Status),
    ("segue_offer_get_type", (Handle, Address, Address), Status),
    ("segue_offer_get_title", (Handle, Address, Address), Status),
    ("segue_offer_get_device_name", (Handle, Address, Address), Status),
    ("segue_offer_get_app_name", (Handle, Address, Address), Status),
    ("segue_offer_get_bundle_identifier", (Handle, Address, Address), Status),
    ("segue_offer_get_web_origin", (Handle, Address, Address), Status),
    ("segue_offer_get_label", (Handle, Address, Address), Status),
    ("segue_offer_is_public", (Handle, Address), Status),
    ("segue_offer_get_payload_version", (Handle, Address), Status),
    ("segue_offer_get_size_hint", (Handle, Address), Status),
    ("segue_offer_get_age_ms", (Handle, Address), Status),
    ("segue_offer_get_expiration_date", (Handle, Address), Status),
    ("segue_offer_get_supports_continuation_streams", (Handle, Address), Status),
    ("segue_app_continue", (Handle, Handle, UInt32, Address), Status),
    ("segue_continuation_cancel", (Handle,), Status),
    ("segue_continuation_decline", (Handle, Bytes, Size), Status),
    ("segue_continuation_restore", (Handle, Address, Size), Status),
    ("segue_continuation_complete", (Handle, Bool), Status),
    ("segue_continuation_fail", (Handle, Bytes, Size), Status),
    ("segue_continuation_get_id", (Handle, Address), Status),
    ("segue_continuation_get_progress", (Handle, Address, Address), Status),
    ("segue_continuation_get_opens_document", (Handle, Address), Status),
    ("segue_continuation_get_offer", (Handle, Address), Status),
    ("segue_restorable_create", (RESTORE_STATE, Address, DESTROY, Address), Status),
    ("segue_activity_resume_back", (Handle, UInt32, RESUME_BACK, Address, DESTROY, Address), Status),
    ("segue_activity_ask_stream", (Handle, UInt32, STREAM, Address, DESTROY), Status),
    ("segue_stream_open", (Handle, Address), Status),
    ("segue_stream_finish", (Handle,), Status),
    ("segue_stream_abort", (Handle, UInt32), Status),
    ("segue_stream_ask_result", (Handle, STREAM_RESULT, Address, DESTROY), Status),
    ("segue_activity_request", (Handle, Bytes, Size, UInt32, RESPONSE, Address, DESTROY, Address), Status),
    ("segue_request_cancel", (Handle,), Status),
    ("segue_request_respond", (Handle, Bytes, Size), Status),
    ("segue_request_refuse", (Handle, Bytes, Size), Status),
    ("segue_request_complete", (Handle, Bool), Status),
    ("segue_activity_attach_file", (Handle, Bytes, Size, Bytes, Size), Status),
    ("segue_activity_attach_fd", (Handle, Bytes, Size, Int32), Status),
    ("segue_activity_attach_bytes", (Handle, Bytes, Size, Bytes, Size), Status),
    ("segue_activity_remove_attachment", (Handle, Bytes, Size), Status),
    ("segue_activity_get_attachments", (Handle, Address), Status),
    (
        "segue_activity_fetch_attachment",
        (Handle, Bytes, Size, Bytes, Size, PROGRESS, FETCHED, Address, DESTROY, Address),
        Status,
    ),
    (
        "segue_activity_fetch_attachment_to_fd",
        (Handle, Bytes, Size, Int32, PROGRESS, FETCHED, Address, DESTROY, Address),
        Status,
    ),
    ("segue_transfer_cancel", (Handle,), Status),
    ("segue_responder_create", (Handle, WILL_SAVE, RESTORE_STATE, Address, DESTROY, Address), Status),
    ("segue_responder_set_activity", (Handle, Handle), Status),
    ("segue_responder_get_activity", (Handle, Address), Status),
    ("segue_responder_set_next", (Handle, Handle), Status),
    ("segue_responder_get_restorable", (Handle, Address), Status),
    ("segue_app_set_main_responder", (Handle, Handle), Status),
    ("segue_app_delegate_on_did_update", (Handle, DID_UPDATE), Status),
    ("segue_app_add_document_type", (Handle, Bytes, Size, Int32, Bytes, Size), Status),
    (
        "segue_document_create",
        (Handle, Bytes, Size, Bytes, Size, Int32, WILL_SAVE, RESTORE_STATE, Address, DESTROY, Address),
        Status,
    ),
    ("segue_document_close", (Handle,), Status),
    ("segue_document_get_responder", (Handle, Address), Status),
    ("segue_document_set_url", (Handle, Bytes, Size), Status),
    ("segue_document_observe", (Handle, ACTIVITY_CHANGED, Address, DESTROY, Address), Status),
    ("segue_app_delegate_on_open_document", (Handle, OPEN_DOCUMENT), Status),
    ("segue_app_delegate_on_opening_failed", (Handle, DID_FAIL), Status),
    ("segue_continuation_complete_opening", (Handle, Handle, Bytes, Size), Status),
    ("segue_app_add_container", (Handle, Bytes, Size, Bytes, Size), Status),
    ("segue_app_remove_container", (Handle, Bytes, Size), Status),
    ("segue_activity_access_begin", (Handle, Bytes, Size, UInt32, Address, Address), Status),
    ("segue_access_end", (Handle,), Status),
    ("segue_app_launch", (Handle, Handle, Bytes, Size, UInt32, Address), Status),
    ("segue_activity_push", (Handle, Bytes, Bytes, Size, UInt32, Address), Status),
    ("segue_app_ask_agent", (Handle, Bytes, Size, Handle, UInt32, Address), Status),
    ("segue_activity_get_route", (Handle, Address), Status),
    ("segue_app_set_accepts_waiting", (Handle, Bool), Status),
    ("segue_app_delete_saved", (Handle, Handle, DELETION, Address, DESTROY), Status),
    ("segue_app_delete_all_saved", (Handle, DELETION, Address, DESTROY), Status),
    ("segue_fleet_create", (UInt64, Address), Status),
    ("segue_fleet_add_device", (Handle, Bytes, Size, Address), Status),
    ("segue_fleet_set_linking", (Handle, Bool), Status),
    ("segue_fleet_set_delay", (Handle, UInt32, UInt32), Status),
    ("segue_fleet_set_faults", (Handle, Double, Double, Double), Status),
    ("segue_fleet_heal", (Handle,), Status),
    ("segue_fleet_step", (Handle, Address), Status),
    ("segue_fleet_run", (Handle, Address), Status),
    ("segue_fleet_advance", (Handle, UInt64, Address), Status),
    ("segue_fleet_wait", (Handle, UInt32, Address), Status),
    ("segue_fleet_get_time_ms", (Handle, Address), Status),
    ("segue_fleet_get_trace", (Handle, Address, Address), Status),
    ("segue_fleet_get_trace_hash", (Handle, Address), Status),
    ("segue_fleet_check", (Handle, Address, Address), Status),
    ("segue_fleet_play", (Handle, Size, Size, Size), Status),
    ("segue_fleet_kill_app", (Handle, Handle), Status),
    ("segue_fleet_set_app_stopped", (Handle, Handle, Bool), Status),
    ("segue_fleet_device_create_app", (Handle, Bytes, Size, Address), Status),
    ("segue_fleet_device_start_agent", (Handle,), Status),
    ("segue_fleet_device_end_agent", (Handle, Bool), Status),
    ("segue_fleet_device_install_app", (Handle, Bytes, Size, LAUNCH, Address, DESTROY), Status),
    ("segue_fleet_device_uninstall_app", (Handle, Bytes, Size), Status),
    ("segue_fleet_device_crash", (Handle,), Status),
    ("segue_fleet_device_restart", (Handle,), Status),
    ("segue_fleet_device_partition", (Handle, Handle), Status),
    ("segue_fleet_device_set_linked", (Handle, Handle, Bool), Status),
)
"""Name, types of the arguments, type of the result."""
