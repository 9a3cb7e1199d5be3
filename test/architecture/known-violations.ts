/**
 * Imports against the order that are still to be untied, from folder to folder. Both lists are to become empty, and this file goes
 * with them: add nothing, and delete the line of what you have untied.
 */
export const KNOWN_IMPORTS: readonly (readonly [from: string, to: string])[] = [
  ['database/audit', 'database/users'],
  ['database/keys', 'database/administration'],
  ['database/keys', 'database/users'],
  ['database/ledger', 'database/administration'],
  ['database/members', 'database/users'],
  ['database/organizations', 'database/administration'],
  ['database/organizations', 'database/keys'],
  ['ext-proc/chat/tokens', 'ext-proc/chat'],
  ['ext-proc/chat/tokens', 'ext-proc/delivery'],
  ['ext-proc/delivery/json', 'ext-proc/delivery'],
  ['ext-proc/delivery/json', 'ext-proc/delivery/stream'],
  ['ext-proc/delivery/provider', 'ext-proc/delivery'],
  ['ext-proc/delivery/provider', 'ext-proc/delivery/json'],
  ['ext-proc/delivery/stream', 'ext-proc/delivery'],
];

/** Folders with files that need each other. */
export const KNOWN_FILE_CYCLES: readonly string[] = [
  'ext-proc/delivery',
  'ext-proc/delivery/json',
  'ext-proc/delivery/provider',
  'ext-proc/delivery/stream',
];
