import { expect, it } from 'vitest';
import { requestsFound } from './requests-found.ts';

const acme = { organizationId: 'org-1', organizationName: 'Acme' };

it('has one entry for a generation and its replays, and for each organization with the same id', () => {
  const rows = [
    { id: 'log-3', ...acme },
    { id: 'log-2', organizationId: 'org-2', organizationName: 'Acme' },
    { id: 'log-1', ...acme },
  ];
  expect(requestsFound(rows)).toEqual([
    { organization: 'org-1', detail: 'Requests of Acme' },
    { organization: 'org-2', detail: 'Request of Acme', open: 'log-2' },
  ]);
});
