import type { MemberView } from '../../../contract/people.ts';

/** What is being done to a member in a dialog. */
export interface MemberAction {
  readonly what: 'role' | 'remove' | 'link';
  readonly of: MemberView;
}

export type OnMemberAction = (action: MemberAction | undefined) => void;
