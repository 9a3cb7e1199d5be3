import { describe, expect, it } from 'vitest';
import type { MemberView } from '#contract/people.ts';
import { findMembers, whyStays } from './member-status.ts';

const member = (email: string, more: Partial<MemberView> = {}): MemberView => ({
  userId: `usr-${email}`,
  email,
  role: 'member',
  invited: false,
  disabled: false,
  createdAtMs: 0,
  activeKeys: 0,
  ...more,
});
const ANA = member('ana@example.com', { role: 'owner' });
const BEN = member('ben@example.com');
const CLEO = member('cleo@example.com', { role: 'owner' });

describe('findMembers', () => {
  it('shows owners first, by address', () => {
    expect(findMembers([CLEO, BEN, ANA], '').map(({ email }) => email)).toEqual(
      [ANA, CLEO, BEN].map(({ email }) => email),
    );
    expect(findMembers([CLEO, BEN, ANA], ' BEN@')).toEqual([BEN]);
  });
});

describe('whyStays', () => {
  it('keeps the last owner who can sign in', () => {
    expect(whyStays([ANA, BEN], ANA, 'owner')).toContain('last owner');
    expect(whyStays([ANA, { ...CLEO, invited: true }], ANA, 'owner')).toContain('last owner');
    expect(whyStays([ANA, { ...CLEO, disabled: true }], ANA, 'owner')).toContain('last owner');
  });

  it('lets everyone else go', () => {
    expect(whyStays([ANA, CLEO], ANA, 'owner')).toBeUndefined();
    expect(whyStays([ANA, BEN], BEN, 'owner')).toBeUndefined();
    expect(whyStays([ANA, { ...CLEO, invited: true }], { ...CLEO, invited: true }, 'owner')).toBeUndefined();
  });

  it('lets an operator remove even the last one', () => {
    expect(whyStays([ANA], ANA, 'operator')).toBeUndefined();
  });
});
