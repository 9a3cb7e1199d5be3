import pino from 'pino';
import { expect, it } from 'vitest';
import { closeForSuccessor } from './close-for-successor.ts';

it('refuses, cuts what is under way, and is done when everything is charged and the spool replayed, while PostgreSQL is away too', async () => {
  const seen: string[] = [];
  let open = 2;
  let spooled = 1;
  await closeForSuccessor({
    refuse: () => void seen.push('refuse'),
    money: {
      openHolds: () => open,
      spool: { pending: () => Array.from({ length: spooled }) as never },
      accounting: {
        cut() {
          seen.push('cut');
          setTimeout(() => {
            open = 0;
          }, 300);
        },
        async replaySpool() {
          seen.push(`replay with ${open} open`);
          if (seen.length < 5) throw new Error('PostgreSQL is away');
          spooled = 0;
        },
      },
    },
    log: pino({ level: 'silent' }),
  });
  expect(seen).toEqual(['refuse', 'cut', 'replay with 0 open', 'replay with 0 open', 'replay with 0 open']);
});
