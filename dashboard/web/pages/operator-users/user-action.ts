import type { UserRow } from '../../../contract/operator.ts';

/** What is being done to a user in a dialog. */
export interface UserAction {
  readonly what: 'link' | 'disablement';
  readonly of: UserRow;
}

export type OnUserAction = (action: UserAction | undefined) => void;
