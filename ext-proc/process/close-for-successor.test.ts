import pino from 'pino';
import { expect, it } from 'vitest';
import { closeForSuccessor } from './close-for-successor.ts';

it('refuses, cuts requests in flight, and resolves when all are charged and the log is shipped, even after an outage of PostgreSQL', async () => {
  const seen: string[] = [];
  let open = 2;
  let waiting = 1;
  await closeForSuccessor({
    refuse: () => void seen.push('refuse'),
    money: {
      openHolds: () => open,
      waiting: () => waiting,
      accounting: {
        cut() {
          seen.push('cut');
          setTimeout(() => {
            open = 0;
          }, 300);
        },
        shipper: {
          async ship() {
            seen.push(`ship with ${open} open`);
            if (seen.length < 5) throw new Error('PostgreSQL is away');
            waiting = 0;
          },
        },
      },
    },
    log: pino({ level: 'silent' }),
  });
  expect(seen).toEqual(['refuse', 'cut', 'ship with 0 open', 'ship with 0 open', 'ship with 0 open']);
});
