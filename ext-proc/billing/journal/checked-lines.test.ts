import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import type { Settlement } from '#database/ledger/ledger.ts';
import { settlement } from '../settlement.fixture.ts';
import { checkedLine, readCheckedLines } from './checked-lines.ts';
import { intent, TARGET } from './intent.fixture.ts';
import {
  askedEntry,
  joinEntries,
  outputEndEntry,
  progressEntry,
  readLeftIntents,
  upstreamEntry,
} from './intent-lines.ts';
import { RecentCharges } from './recent-charges.ts';

/** Characters at which some readers end a line, or that no UTF-8 text has. */
const HOSTILE = fc.constantFrom(
  '\u2028',
  '\u2029',
  '\u0085',
  '\v',
  '\f',
  '\r',
  '\n',
  '\t',
  '\0',
  '\ud800',
  '\udfff',
  '😀',
);
const TEXT = fc.array(fc.oneof(HOSTILE, fc.string({ unit: 'binary', maxLength: 3 })), { maxLength: 6 });
const TEXTS = fc.array(
  TEXT.map((pieces) => pieces.join('')),
  { minLength: 4, maxLength: 4 },
);
const USAGE = settlement.usage;

describe('lines with a checksum', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gw-lines-'));
  const path = join(folder, 'lines.jsonl');
  afterAll(() => rmSync(folder, { recursive: true }));

  async function read(content: string | Buffer): Promise<{ lines: string[]; damaged: string[] }> {
    writeFileSync(path, content);
    const damaged: string[] = [];
    const lines: string[] = [];
    for await (const line of readCheckedLines(path, (bytes) => damaged.push(bytes.toString()))) lines.push(line);
    return { lines, damaged };
  }

  it('keep any text without a line feed', async () => {
    const lines = TEXTS.map((texts) => texts.map((text) => `.${text.toWellFormed().replaceAll('\n', '')}`));
    await fc.assert(
      fc.asyncProperty(lines, async (texts) => {
        expect(await read(`\n${texts.map(checkedLine).join('')}`)).toEqual({ lines: texts, damaged: [] });
      }),
    );
  });

  it('tell of those that are damaged, and not of one that a crash cut short', async () => {
    const [first, second, third] = ['one', 'two', 'three'].map(checkedLine) as [string, string, string];
    const damaged = second.replace('two', 'tow');
    expect(await read(first + damaged + third)).toEqual({ lines: ['one', 'three'], damaged: [damaged.trimEnd()] });
    expect(await read(first + third.slice(0, -3))).toEqual({ lines: ['one'], damaged: [] });
    expect(await read(`${first}\n${second.trimEnd()}`)).toEqual({ lines: ['one', 'two'], damaged: [] });
  });

  it('keep the journal whole, whatever clients and providers say', async () => {
    await fc.assert(
      fc.asyncProperty(TEXTS, async ([user = '', upstreamId = '', askedTier = '', serviceTier = '']) => {
        const asked = { ...TARGET, attempt: 1, askedAtMs: 5, sentTier: askedTier };
        const ended = { usage: USAGE, usageCounted: false, serviceTier };
        const entries = [
          askedEntry(1, intent('gen-1', { user, askedTier }), asked),
          progressEntry(1, 9, 7),
          upstreamEntry(1, upstreamId),
          outputEndEntry(1, ended),
          askedEntry(2, intent('gen-2'), asked),
        ];
        writeFileSync(path, checkedLine(joinEntries(entries)));
        const delivered = { tokens: 9, firstAtMs: 7, lastAtMs: 7, upstreamId, ended };
        const left = [
          { ...intent('gen-1', { user, askedTier }), asked, delivered },
          { ...intent('gen-2'), asked },
        ];
        expect(await readLeftIntents(path)).toEqual({ left, damaged: [] });
      }),
    );
  });

  it('keep recent charges whole, whatever clients and providers say', async () => {
    const onFailure = (error: unknown) => expect.unreachable(String(error));
    const recent = new RecentCharges({
      ...{ folder, workerIndex: 0, onFailure, onDamage: (aside) => expect.unreachable(aside) },
      clock: { nowMs: () => Date.now(), monotonicMs: () => performance.now() },
    });
    let epoch = 0;
    await fc.assert(
      fc.asyncProperty(TEXTS, async ([user = '', upstreamId = '', serviceTier = '', finishReason = '']) => {
        const first: Settlement = { ...settlement, user, upstreamId, serviceTier, finishReason };
        const charges = [first, { ...settlement, generationId: 'gen-2' }];
        for (const charge of charges) recent.note(charge, `epoch-${epoch}`);
        epoch += 1;
        const sent: Settlement[] = [];
        await recent.sendAgain(`epoch-${epoch}`, async (group) => void sent.push(...group));
        expect(sent).toEqual(charges);
        for (const name of readdirSync(folder)) rmSync(join(folder, name));
      }),
    );
    recent.close();
  });
});
