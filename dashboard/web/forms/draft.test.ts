import { expect, it } from 'vitest';
import { ALERT_SETTINGS, OWN_SETTINGS } from '#contract/shown-settings.ts';
import { changeOf, draftAfterSave, draftOf } from './draft.ts';

it('has no change after a save, though somebody else has saved meanwhile', () => {
  const sent = { ...draftOf(OWN_SETTINGS, { name: 'Acme', taxId: 'DE111' }), billingAddress: 'Elm Street 1' };
  const saved = { name: 'Acme', taxId: 'DE222', billingAddress: 'Elm Street 1' };
  expect(changeOf(OWN_SETTINGS, saved, draftAfterSave(OWN_SETTINGS, saved, sent, sent))).toEqual({});
  const typed = { ...sent, legalName: 'Acme Inc' };
  const after = draftAfterSave(OWN_SETTINGS, saved, sent, typed);
  expect(changeOf(OWN_SETTINGS, saved, after)).toEqual({ legalName: 'Acme Inc' });
});

it('takes over what others changed, and in lists keeps what was added and removed here', () => {
  const own = { balanceBelowNanoUsd: '5', keyBudgets: true, keyExpiry: true, topUps: true };
  const before = { ...own, emails: ['old@acme.example', 'former@acme.example'] };
  const opened = draftOf(ALERT_SETTINGS, before);
  const theirs = { ...own, balanceBelowNanoUsd: '7', emails: [...before.emails, 'colleague@acme.example'] };
  const untouched = { ...opened, emails: before.emails.toReversed() };
  expect(draftAfterSave(ALERT_SETTINGS, theirs, opened, untouched)).toEqual(draftOf(ALERT_SETTINGS, theirs));

  const touched = { ...opened, keyBudgets: false, emails: ['old@acme.example', 'me@acme.example'] };
  const after = draftAfterSave(ALERT_SETTINGS, theirs, opened, touched);
  expect(changeOf(ALERT_SETTINGS, theirs, after)).toEqual({
    keyBudgets: false,
    emails: ['old@acme.example', 'colleague@acme.example', 'me@acme.example'],
  });
});
