import CSegue
import SegueModel

@_cdecl("segue_version") @implementation
public func segue_version() -> UInt32 { UInt32(SEGUE_VERSION) }
