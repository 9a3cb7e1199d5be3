import { expect, it } from 'vitest';
import { inviteBody } from './invite-draft.ts';

it('invites a person to an organization', () => {
  expect(inviteBody({ email: ' a@example.com ', as: 'owner', organizationId: 'org-1' })).toEqual({
    email: 'a@example.com',
    operator: false,
    role: 'owner',
    organizationId: 'org-1',
  });
});

it('ignores for an operator what was chosen before', () => {
  expect(inviteBody({ email: 'a@example.com', as: 'operator', organizationId: 'org-1' })).toEqual({
    email: 'a@example.com',
    operator: true,
  });
});
