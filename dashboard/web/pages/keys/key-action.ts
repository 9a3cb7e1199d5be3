import type { KeyView } from '../../../contract/keys.ts';

/** What is being done to a key in a dialog. */
export interface KeyAction {
  readonly what: 'edit' | 'replace' | 'revoke';
  readonly of: KeyView;
}

/** One is begun, or the one that was is over. */
export type OnKeyAction = (action: KeyAction | undefined) => void;
