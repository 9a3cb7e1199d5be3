import { expect, it } from 'vitest';
import { inviteBody, lacksOrganization } from './invite-draft.ts';

it('invites a person to an organization', () => {
  expect(inviteBody({ email: ' a@example.com ', as: 'owner', organizationId: 'org-1' })).toEqual({
    email: 'a@example.com',
    operator: false,
    role: 'owner',
    organizationId: 'org-1',
  });
});

it('needs an organization, except for an operator', () => {
  expect(lacksOrganization({ email: '', as: 'member', organizationId: undefined })).toBe(true);
  expect(lacksOrganization({ email: '', as: 'member', organizationId: 'org-1' })).toBe(false);
  expect(lacksOrganization({ email: '', as: 'operator', organizationId: undefined })).toBe(false);
});

it('ignores for an operator what was chosen before', () => {
  expect(inviteBody({ email: 'a@example.com', as: 'operator', organizationId: 'org-1' })).toEqual({
    email: 'a@example.com',
    operator: true,
  });
});
