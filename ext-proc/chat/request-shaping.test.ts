import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import type { RequestShaping } from '#core/config/gateway-config.ts';
import { parseJson } from '#core/parse-json.ts';
import { acceptedChat, sentBody } from '#test/fixtures/chat-request.ts';
import { shapeObject } from './request-shaping.ts';

type Names = Readonly<Record<string, string>>;
type Written = { readonly drop?: readonly string[] } & { readonly [Map in keyof Omit<RequestShaping, 'drop'>]?: Names };

function shaping({ drop = [], rename = {}, set = {}, setWithTools = {}, roles = {} }: Written): RequestShaping {
  const map = (entries: Names) => new Map(Object.entries(entries));
  return {
    ...{ drop: new Set(drop), rename: map(rename), set: map(set) },
    ...{ setWithTools: map(setWithTools), roles: map(roles) },
  };
}

function encode(body: string, steps: readonly Written[], more: { readonly streamOptions?: false } = {}): string {
  const shaped = steps.length === 0 ? {} : { shaping: steps.map(shaping) };
  return sentBody(acceptedChat(body), { model: 'upstream', outputLimit: 77, ...shaped, ...more });
}

const MESSAGES = '"messages":[{"role":"user","content":"x"}]';
const TOOLS = '"tools":[{"type":"function","function":{"name":"f"}}]';
const HEAD = '{"model":"upstream","max_tokens":77';

describe('a shaped body', () => {
  test('has members dropped, renamed, set, and set with tools, in this order', () => {
    const step = {
      drop: ['seed', 'stop'],
      rename: { user: 'end_user', top_p: 'seed' },
      set: { store: 'false', temperature: '1.0' },
      setWithTools: { reasoning_effort: '"none"' },
    };
    const body = `{"model":"m",${MESSAGES},"seed":1,"stop":"a","user":"me","top_p" : 1e-1,"temperature":0.5`;
    const shaped = `${HEAD},${MESSAGES},"temperature":1.0,"end_user":"hash","seed":1e-1,"store":false`;
    expect(encode(`${body}}`, [step])).toBe(`${shaped}}`);
    expect(encode(`${body},"tools":[]}`, [step])).toBe(
      `${shaped.replace('"temperature":1.0', '"temperature":1.0,"tools":[]')}}`,
    );
    expect(encode(`${body},${TOOLS}}`, [step])).toContain('"store":false,"reasoning_effort":"none"}');
  });

  test('is changed by the target after the provider', () => {
    const provider = { rename: { user: 'end_user' }, set: { store: 'false', verbosity: '"low"' } };
    const target = { drop: ['store'], rename: { end_user: 'customer' }, set: { verbosity: '"high"' } };
    expect(encode(`{"model":"m",${MESSAGES},"user":"me"}`, [provider, target])).toBe(
      `${HEAD},${MESSAGES},"verbosity":"high","customer":"hash"}`,
    );
  });

  test('may swap names, and a renamed member replaces another', () => {
    const swap = { rename: { top_p: 'temperature', temperature: 'top_p' } };
    expect(encode(`{"model":"m",${MESSAGES},"top_p":0.1,"temperature":2}`, [swap])).toBe(
      `${HEAD},${MESSAGES},"temperature":0.1,"top_p":2}`,
    );
    expect(encode(`{"model":"m","seed":1,"top_p":0.5,${MESSAGES}}`, [{ rename: { seed: 'top_p' } }])).toBe(
      `${HEAD},"top_p":1,${MESSAGES}}`,
    );
  });

  test('has names and roles recognized in any notation', () => {
    const messages = String.raw`"messages":[ {"r\u006fle" : "\u0064eveloper" , "content":"\"role\":\"developer\""},
      {"content":[{"type":"text","text":"x","role":"developer"}],"role":"user"},{"role":"tool","role":"developer","content":"y"}]`;
    expect(
      encode(String.raw`{"model":"m","\u0073eed":1,${messages}}`, [{ drop: ['seed'], roles: { developer: 'system' } }]),
    ).toBe(
      `${HEAD},${messages
        .replace(String.raw`"\u0064eveloper"`, '"system"')
        .replace('"role":"tool",', ' '.repeat(14))
        .replace('"developer","content":"y"', '"system","content":"y"')}}`,
    );
  });

  test('has roles that the target changes again', () => {
    const steps = [{ roles: { developer: 'system' } }, { roles: { system: 'user', developer: 'never' } }];
    const messages = '"messages":[{"role":"developer","content":""},{"role":"system","content":""}]';
    expect(encode(`{"model":"m",${messages}}`, steps)).toBe(
      `${HEAD},${messages.replace(/developer|system/g, 'user')}}`,
    );
  });

  test('has no stream_options if the provider accepts none', () => {
    for (const stream of ['true', 'false']) {
      const body = `{"model":"m",${MESSAGES},"stream":${stream},"stream_options":{"include_usage":true}}`;
      expect(encode(body, [], { streamOptions: false })).toBe(`${HEAD},${MESSAGES},"stream":${stream}}`);
      expect(encode(body, [{ drop: ['seed'] }], { streamOptions: false })).toBe(
        `${HEAD},${MESSAGES},"stream":${stream}}`,
      );
    }
  });

  test('sends numbers as they are written, in an object too', () => {
    const exact = '{"a":12345678901234567890,"b":[1.0,1e400]}';
    const set = { set: { logit_bias: exact, seed: '-0.10' } };
    expect(encode(`{"model":"m",${MESSAGES}}`, [set])).toBe(`${HEAD},${MESSAGES},"logit_bias":${exact},"seed":-0.10}`);
    expect(JSON.stringify(shapeObject({ model: 'm' }, [shaping(set)]))).toBe(
      `{"model":"m","logit_bias":${exact},"seed":-0.10}`,
    );
  });

  test('has images that are plain strings in the official form, between roles that change', () => {
    const image = '"data:image/png;base64,iVBORw0KGgo="';
    const messages = (role: string, url: string) =>
      `"messages":[{"role":"user","content":[{"type":"image_url","image_url":${url}}]},{"role":"${role}","content":"x"},{"content":[{"type":"image_url","image_url":${url}}],"role":"user"}]`;
    expect(encode(`{"model":"m",${messages('developer', image)}}`, [{ roles: { developer: 'system' } }])).toBe(
      `${HEAD},${messages('system', `{"url":${image}}`)}}`,
    );
  });

  test('has empty texts after roles that change', () => {
    const messages = (role: string, content: string) => `"messages":[{"role":"${role}"${content}}]`;
    expect(encode(`{"model":"m",${messages('assistant', '')}}`, [{ roles: { assistant: 'model' } }])).toBe(
      `${HEAD},${messages('model', ',"content":""')}}`,
    );
  });

  test('has long messages in few pieces', () => {
    const developer = (content: string) => ({ role: 'developer', content });
    const many = Array.from({ length: 3000 }, (_, index) => developer('x'.repeat(index % 300)));
    const chat = acceptedChat({ model: 'm', messages: [...many, developer('y'.repeat(9000))] });
    const encodeFor = vi.spyOn(chat, 'encodeFor');
    const body = sentBody(chat, { shaping: [shaping({ roles: { developer: 'system' } })] });
    expect(encodeFor.mock.results[0]?.value.length).toBeLessThan(20);
    const { messages } = JSON.parse(body);
    expect(messages.map(({ role }: { role: string }) => role)).toEqual(Array.from({ length: 3001 }, () => 'system'));
    expect(messages[3000].content).toHaveLength(9000);
  });
});

describe('any body', () => {
  const name = fc.constantFrom(
    ...['seed', 'stop', 'temperature', 'top_p', 'verbosity', 'logit_bias', 'user', 'other', 'ü"'],
  );
  const value = fc.jsonValue().map((json) => JSON.stringify(json));
  const role = fc.constantFrom('system', 'developer', 'user', 'tool');
  const step = fc.record({
    drop: fc.array(name),
    rename: fc.dictionary(name, name),
    set: fc.dictionary(name, value),
    setWithTools: fc.dictionary(name, value),
    roles: fc.dictionary(role, role),
  });
  const message = fc.record({
    role,
    content: fc.string({ unit: 'grapheme' }),
    tool_call_id: fc.string(),
    extra: fc.jsonValue(),
  });
  const body = fc.record(
    {
      model: fc.constant('m'),
      messages: fc.array(message, { minLength: 1 }),
      tools: fc.array(fc.constant({ type: 'function', function: { name: 'f' } }), { maxLength: 1 }),
      seed: fc.integer(),
      stop: fc.array(fc.string(), { maxLength: 4 }),
      temperature: fc.double({ min: 0, max: 2, noNaN: true }),
      top_p: fc.double({ min: 0, max: 1, noNaN: true }),
      verbosity: fc.string({ maxLength: 20 }),
      logit_bias: fc.dictionary(fc.string(), fc.integer({ min: -100, max: 100 })),
    },
    { requiredKeys: ['model', 'messages'] },
  );

  test('is shaped like its parsed object, and the rest is unchanged byte for byte', () => {
    fc.assert(
      fc.property(
        body,
        fc.array(step, { minLength: 1, maxLength: 2 }),
        fc.integer({ min: 0, max: 3 }),
        (fields, steps, indent) => {
          const written = JSON.stringify(fields, null, indent);
          const plain = parseJson(encode(written, [])) as Record<string, unknown>;
          const shaped = encode(written, steps);
          expect(parseJson(shaped)).toEqual(parseJson(JSON.stringify(shapeObject(plain, steps.map(shaping)))));
          const touched = JSON.stringify(steps);
          for (const [key, each] of Object.entries(fields)) {
            if (['model', 'messages'].includes(key) || touched.includes(`"${key}"`)) continue;
            const inner = JSON.stringify({ [key]: each }, null, indent)
              .slice(1, -1)
              .trim();
            expect(shaped).toContain(inner);
          }
        },
      ),
    );
  });
});
