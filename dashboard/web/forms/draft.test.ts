import { expect, it } from 'vitest';
import { OWN_SETTINGS } from '#contract/shown-settings.ts';
import { changeOf, draftAfterSave, draftOf } from './draft.ts';

it('has no change after a save, though somebody else has saved meanwhile', () => {
  const sent = { ...draftOf(OWN_SETTINGS, { name: 'Acme', taxId: 'DE111' }), billingAddress: 'Elm Street 1' };
  const saved = { name: 'Acme', taxId: 'DE222', billingAddress: 'Elm Street 1' };
  expect(changeOf(OWN_SETTINGS, saved, draftAfterSave(OWN_SETTINGS, saved, sent, sent))).toEqual({});
  const typed = { ...sent, legalName: 'Acme Inc' };
  const after = draftAfterSave(OWN_SETTINGS, saved, sent, typed);
  expect(changeOf(OWN_SETTINGS, saved, after)).toEqual({ legalName: 'Acme Inc' });
});
