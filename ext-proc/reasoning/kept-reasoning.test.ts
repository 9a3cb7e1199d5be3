import { describe, expect, it, vi } from 'vitest';
import { systemClock } from '#core/clock.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { ReasoningMember } from '../chat/called-messages.ts';
import { ValidationTurns } from '../fairness/validation-turns.ts';
import { createMemoryReasoningStore } from '../limits/reasoning/memory-reasoning-store.ts';
import {
  type KeptReasoningResult,
  REASONING_BOUNDS,
  type ReasoningStore,
} from '../limits/reasoning/reasoning-store.ts';
import { type CallsAfter, createKeptReasoning } from './kept-reasoning.ts';
import { ProducedMessage } from './produced-message.ts';
import { reasoningSeal } from './reasoning-seal.ts';

const ORIGIN = { provider: 'alpha', model: 'its-model' };
const DETAIL = { type: 'reasoning.encrypted', id: 'rs_1', data: 'c2VjcmV0IHRob3VnaHQ=', format: 'f', index: 0 };
const DETAILS = 'reasoning_details';
const CALL = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":"it"}' } };

const seal = reasoningSeal('org-1', 'sk-gw-one');

function opened(given?: Partial<ReasoningStore>) {
  const memory = createMemoryReasoningStore({ bounds: REASONING_BOUNDS, clock: systemClock, onEvicted: () => {} });
  const results: [KeptReasoningResult, number][] = [];
  const onFault = vi.fn<(error: unknown) => void>();
  const kept = createKeptReasoning({
    store: { ...memory, ...given },
    turns: new ValidationTurns(),
    onResult: (...result) => results.push(result),
    onFault,
    waitMs: 50,
  });
  return { kept, memory, results, onFault };
}

function produced(member: ReasoningMember | undefined, ...choices: readonly object[]): CallsAfter {
  const message = new ProducedMessage(member);
  for (const choice of choices) message.take([choice]);
  const calls = message.produced();
  if (calls === undefined) throw new Error('no calls were produced');
  return { ...calls, heard: 'it' };
}

const PRODUCED = produced(DETAILS, { message: { content: null, tool_calls: [CALL], reasoning_details: [DETAIL] } });

const lookup = (lacks: ReasoningMember, ...messages: readonly (readonly object[])[]) => ({
  messages: messages.map((calls, at) => ({
    ...{ message: 2 * at + 1, lacks: [lacks], heard: 'it' },
    toolCalls: Buffer.from(JSON.stringify(calls)),
  })),
  takeMemory: () => true,
  gone: () => new AbortController().signal,
});

describe('kept reasoning', () => {
  it('is found by the calls of its message, with the target that made it', async () => {
    const { kept, results, memory } = opened();
    await kept.keep(seal, 'org-1', ORIGIN, PRODUCED);
    const other = { ...CALL, id: 'call_2' };
    const found = await kept.find(seal, 'org-1', lookup(DETAILS, [other], [CALL]));
    expect(found).toEqual([
      {
        message: 3,
        ...ORIGIN,
        member: DETAILS,
        tokens: expect.anything(),
        json: Buffer.from(JSON.stringify([DETAIL])),
      },
    ]);
    expect(results).toEqual([
      ['kept', 1],
      ['found', 1],
      ['missing', 1],
    ]);
    memory.close();
  });

  it('is found if the same response came twice, and not if the reasoning differed', async () => {
    const other = {
      message: { content: null, tool_calls: [CALL], reasoning_details: [{ ...DETAIL, data: 'b3RoZXI=' }] },
    };
    const { kept, memory } = opened();
    for (const [answer, found] of [
      [PRODUCED, 1],
      [PRODUCED, 1],
      [produced(DETAILS, other), 0],
    ] as const) {
      await kept.keep(seal, 'org-1', ORIGIN, answer);
      expect(await kept.find(seal, 'org-1', lookup(DETAILS, [CALL]))).toHaveLength(found);
    }
    memory.close();
  });

  it('is kept from a stream whose calls came in pieces', async () => {
    const { kept, memory } = opened();
    const streamed = produced(
      DETAILS,
      { delta: { reasoning_details: [DETAIL] } },
      { delta: { tool_calls: [{ index: 0, ...CALL, function: { name: 'look', arguments: '' } }] } },
      { delta: { tool_calls: [{ index: 0, function: { arguments: '{"at"' } }] } },
      { delta: { tool_calls: [{ index: 1, id: 'call_2', type: 'custom', custom: { name: 'say', input: '' } }] } },
      { delta: { tool_calls: [{ index: 1, custom: { input: 'it' } }] } },
      { delta: { tool_calls: [{ index: 0, function: { arguments: ':"it"}' } }] } },
      { delta: { content: 'x' }, finish_reason: 'tool_calls' },
    );
    await kept.keep(seal, 'org-1', ORIGIN, streamed);
    const custom = { id: 'call_2', type: 'custom', custom: { name: 'say', input: 'it' } };
    expect(await kept.find(seal, 'org-1', lookup(DETAILS, [CALL]))).toEqual([]);
    expect(await kept.find(seal, 'org-1', lookup(DETAILS, [CALL, custom]))).toMatchObject([
      { json: Buffer.from(JSON.stringify([DETAIL])) },
    ]);
    memory.close();
  });

  it('is the whole text of a provider of chat completions, and of no other member', async () => {
    const { kept, memory } = opened();
    const pieces = Array.from({ length: 5_000 }, (_, at) => `${at}é `);
    const choices = pieces.map((text) => ({ delta: { reasoning_content: text, reasoning_details: [DETAIL] } }));
    const calls = { delta: { reasoning_content: null, tool_calls: [{ index: 0, ...CALL }] } };
    await kept.keep(seal, 'org-1', ORIGIN, produced('reasoning_content', ...choices, calls));
    const json = Buffer.from(JSON.stringify(pieces.join('')));
    const found = { message: 1, ...ORIGIN, member: 'reasoning_content', tokens: expect.anything(), json };
    expect(await kept.find(seal, 'org-1', lookup('reasoning_content', [CALL]))).toEqual([found]);
    expect(await kept.find(seal, 'org-1', lookup(DETAILS, [CALL]))).toEqual([]);
    memory.close();
  });

  it('is the signature of some calls, in the order of all', async () => {
    const { kept, memory } = opened();
    const signed = { ...CALL, extra_content: { google: { thought_signature: 'c2ln' } } };
    const other = { ...CALL, id: 'call_2' };
    const streamed = [
      { delta: { tool_calls: [{ index: 0, ...CALL }] } },
      { delta: { tool_calls: [{ index: 1, ...other }] } },
      { delta: { tool_calls: [{ index: 0, extra_content: signed.extra_content }] } },
    ];
    const whole = { message: { reasoning_content: 'x', tool_calls: [other, signed] } };
    for (const [calls, choices, extras] of [
      [[CALL, other], streamed, [signed.extra_content, null]],
      [[other, CALL], [whole], [null, signed.extra_content]],
    ] as const) {
      await kept.keep(seal, 'org-1', ORIGIN, produced('extra_content', ...choices));
      const found = await kept.find(seal, 'org-1', lookup('extra_content', calls));
      expect(found.map(({ json }) => JSON.parse(json.toString()))).toEqual([extras]);
    }
    expect(produced('extra_content', { message: { tool_calls: [CALL] } }).reasoning).toBeUndefined();
    const long = { ...CALL, extra_content: { google: { thought_signature: 'x'.repeat(300_000) } } };
    expect(produced('extra_content', { message: { tool_calls: [long] } }).reasoning).toBe('too_much');
    memory.close();
  });

  it('is not a text without end', () => {
    const message = new ProducedMessage('reasoning_content');
    message.take([{ delta: { tool_calls: [{ index: 0, ...CALL }] } }]);
    for (let at = 0; at < 300; at++) message.take([{ delta: { reasoning_content: 'x'.repeat(1_000) } }]);
    expect(message.produced()?.reasoning).toBe('too_much');
  });

  it.each<[string, KeptReasoningResult[], CallsAfter]>([
    ['has none', [], produced(DETAILS, { message: { tool_calls: [CALL] } })],
    [
      'has none that is kept',
      [],
      produced(undefined, { message: { tool_calls: [CALL], reasoning_details: [DETAIL] } }),
    ],
    [
      'has too much',
      ['full'],
      produced(DETAILS, { message: { tool_calls: [CALL], reasoning_details: Array(257).fill(DETAIL) } }),
    ],
  ])('is not found for the same calls of a response that %s, in any order', async (_, result, other) => {
    for (const order of [
      [PRODUCED, other],
      [other, PRODUCED],
    ]) {
      const { kept, results, memory } = opened();
      for (const one of order) await kept.keep(seal, 'org-1', ORIGIN, one);
      expect(results.map(([one]) => one).toSorted()).toEqual([...result, 'kept'].toSorted());
      expect(await kept.find(seal, 'org-1', lookup(DETAILS, [CALL]))).toEqual([]);
      memory.close();
    }
  });

  it('is not found for the same calls after another message', async () => {
    const { kept, memory } = opened();
    const asked = lookup(DETAILS, [CALL]);
    const messages = asked.messages.map((message) => ({ ...message, heard: 'other' }));
    await kept.keep(seal, 'org-1', ORIGIN, PRODUCED);
    expect(await kept.find(seal, 'org-1', { ...asked, messages })).toEqual([]);
    expect(await kept.find(seal, 'org-1', lookup(DETAILS, [CALL]))).toHaveLength(1);
    memory.close();
  });

  it('is sealed: no other API key finds it, and foreign entries are not opened', async () => {
    const sealedBytes: Buffer[] = [];
    const { kept, memory } = opened();
    const writing = createKeptReasoning({
      store: {
        ...memory,
        keep: (message) => {
          sealedBytes.push(message.sealed, Buffer.from(message.name));
          return memory.keep(message);
        },
      },
      turns: new ValidationTurns(),
      onResult: () => {},
      onFault: () => {},
    });
    await writing.keep(seal, 'org-1', ORIGIN, PRODUCED);
    const stored = Buffer.concat(sealedBytes).toString('latin1');
    for (const secret of [DETAIL.data, 'call_1', 'look', 'its-model']) expect(stored).not.toContain(secret);
    expect(await kept.find(reasoningSeal('org-1', 'sk-gw-two'), 'org-1', lookup(DETAILS, [CALL]))).toEqual([]);
    expect(await kept.find(reasoningSeal('org-2', 'sk-gw-one'), 'org-2', lookup(DETAILS, [CALL]))).toEqual([]);
    const [sealed = Buffer.alloc(0)] = sealedBytes;
    for (const at of [0, 20, sealed.length - 1]) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      const reading = opened({ find: async () => [changed] });
      expect(await reading.kept.find(seal, 'org-1', lookup(DETAILS, [CALL]))).toEqual([]);
      expect(reading.results).toEqual([['missing', 1]]);
      reading.memory.close();
    }
    memory.close();
  });

  it.each([
    ['unavailable', () => Promise.reject(new StoreUnavailable('gone')), 0],
    ['silent', () => new Promise<never>(() => {}), 0],
    ['broken', () => Promise.reject(new Error('a bug')), 1],
  ])('is missing while its store is %s', async (_, call, faults) => {
    const { kept, results, onFault, memory } = opened({ keep: call, find: call });
    await kept.keep(seal, 'org-1', ORIGIN, PRODUCED);
    expect(await kept.find(seal, 'org-1', lookup(DETAILS, [CALL], [{ ...CALL, id: 'call_2' }]))).toEqual([]);
    expect(results).toEqual([
      ['unavailable', 1],
      ['unavailable', 2],
    ]);
    expect(onFault).toHaveBeenCalledTimes(2 * faults);
    memory.close();
  });

  it.each([
    ['has no calls', { message: { reasoning_details: [DETAIL] } }],
    [
      'has more input than is kept',
      {
        message: {
          tool_calls: [{ ...CALL, function: { name: 'x', arguments: 'x'.repeat(300_000) } }],
          reasoning_details: [DETAIL],
        },
      },
    ],
    ['is of no known form', { message: { tool_calls: [7], reasoning_details: {} } }],
  ])('is not kept if a message %s', (_, choice) => {
    const message = new ProducedMessage(DETAILS);
    message.take([choice]);
    expect(message.produced()).toBeUndefined();
  });

  it('is not kept if one detail exceeds the bound', () => {
    const long = { ...DETAIL, data: 'x'.repeat(300_000) };
    const { reasoning } = produced(DETAILS, { message: { tool_calls: [CALL], reasoning_details: [long] } });
    expect(reasoning).toBe('too_much');
  });
});
