// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Behind place.js: gives the place on the page, so that one question to the browser is enough.
globalThis.seguePlace.take();
