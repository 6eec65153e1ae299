// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/** A value that JSON has. */
export type JSONValue = null | boolean | number | string | JSONValue[] | { [key: string]: JSONValue };

/** The state of the page is about to be handed over. */
export interface SaveEvent extends Event {
  /** Lets the state wait for a promise, for 0.8 s at most. After that the page travels without its state. */
  waitUntil(promise: Promise<unknown>): void;
}

export interface UserActivityEventMap {
  /** Set `userInfo` to the state of now. */
  save: SaveEvent;
  /** `userInfo` has the state of another device, browser or app. Comes from elsewhere: check it as you check a form. */
  continue: Event;
  /** The activity was continued elsewhere. */
  wascontinued: Event;
}

/**
 * What the user does on this page, so that it can be continued in another browser, or in an app that the site lists. It
 * has an effect only where the user has the extension of Segue and has allowed it this site; a page cannot ask whether
 * that is so. For pages that come by https or from this machine, in the top frame.
 */
export class UserActivity extends EventTarget {
  /** @param type 1 to 255 printable ASCII characters: `com.example.notes.editing`, as the app declares it. */
  constructor(type: string);
  readonly type: string;
  /** For people: 255 characters of it travel. Without one the title of the page is used. */
  title: string | undefined;
  /** The state: at most 64 KiB as JSON. `{"$date": seconds since 1970}` and the like are as in docs/values.md. */
  userInfo: { [key: string]: JSONValue };
  /** The address to continue at, of the page's own origin. Without one the address of the page is used. */
  webpageURL: string | undefined;
  /** Makes it the activity of the page, in the place of another one. */
  becomeCurrent(): void;
  resignCurrent(): void;
  /** Ends it: it is neither offered nor continued any more. */
  invalidate(): void;
  addEventListener<K extends keyof UserActivityEventMap>(
    name: K,
    listener: (this: UserActivity, event: UserActivityEventMap[K]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
}
