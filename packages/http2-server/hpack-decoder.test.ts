import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { lend } from './borrowed-bytes.ts';
import { literal } from './frames.fixture.ts';
import { HpackDecoder } from './hpack-decoder.ts';
import { type Field, RequestFields } from './request-fields.ts';

class Recorder extends RequestFields {
  readonly seen: string[] = [];

  override add(field: Field): void {
    this.seen.push(`${field.name}: ${field.value}`);
    super.add(field);
  }
}

function decodeInto(decoder: HpackDecoder, bytes: Buffer): readonly string[] | undefined {
  const fields = new Recorder();
  // In the middle of other bytes, as it arrives.
  const around = Buffer.concat([Buffer.of(0xff), bytes, Buffer.of(0x82)]);
  return decoder.decode(lend(around), 1, 1 + bytes.length, fields) ? fields.seen : undefined;
}

const decode = (bytes: readonly number[], decoder = new HpackDecoder()) => decodeInto(decoder, Buffer.from(bytes));
const decodeHex = (decoder: HpackDecoder, hex: string) =>
  decodeInto(decoder, Buffer.from(hex.replaceAll(' ', ''), 'hex'));

const REQUEST = [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com'];

describe('RFC 7541, appendix C', () => {
  test.each([
    ['C.2.1', '400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572', 'custom-key: custom-header'],
    ['C.2.2', '040c 2f73 616d 706c 652f 7061 7468', ':path: /sample/path'],
    ['C.2.3', '1008 7061 7373 776f 7264 0673 6563 7265 74', 'password: secret'],
    ['C.2.4', '82', ':method: GET'],
  ])('%s', (_, hex, field) => {
    expect(decodeHex(new HpackDecoder(), hex)).toEqual([field]);
  });

  test.each([
    [
      'C.3, plain',
      '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
      '8286 84be 5808 6e6f 2d63 6163 6865',
      '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
    ],
    [
      'C.4, Huffman',
      '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
      '8286 84be 5886 a8eb 1064 9cbf',
      '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
    ],
  ])('%s: three requests of one connection', (_, ...blocks) => {
    const decoder = new HpackDecoder();
    const [first, second, third] = blocks.map((hex) => decodeHex(decoder, hex));
    expect(first).toEqual(REQUEST);
    expect(second).toEqual([...REQUEST, 'cache-control: no-cache']);
    expect(third).toEqual([
      ':method: GET',
      ':scheme: https',
      ':path: /index.html',
      ':authority: www.example.com',
      'custom-key: custom-value',
    ]);
    // Index 65 was never filled.
    expect(decodeHex(decoder, 'c1')).toBeUndefined();
  });
});

/** As an encoder would: the table that a decoder must have in mind, in the plainest way. */
class Model {
  entries: [string, string][] = [];
  limit = 4096;

  add(name: string, value: string): void {
    this.entries.unshift([name, value]);
    this.evict();
  }

  evict(): void {
    const size = () => this.entries.reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0);
    while (size() > this.limit) this.entries.pop();
  }
}

function integer(value: number, prefixBits: number, first: number): Buffer {
  const max = 2 ** prefixBits - 1;
  if (value < max) return Buffer.of(first | value);
  const bytes = [first | max];
  let rest = value - max;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}

const text = (value: string) => Buffer.concat([integer(value.length, 7, 0), Buffer.from(value, 'latin1')]);

describe('the dynamic table', () => {
  const name = fc.stringMatching(/^[a-z]{1,20}$/);
  const value = fc.oneof(
    fc.stringMatching(/^[!-~]{0,30}$/),
    fc.constant('long'.repeat(300)),
    fc.constant('x'.repeat(5000)),
  );
  const step = fc.oneof(
    fc.record({ kind: fc.constantFrom('keep' as const, 'pass' as const), name, value }),
    fc.record({ kind: fc.constant('refer' as const), at: fc.nat(40) }),
    fc.record({ kind: fc.constant('rename' as const), at: fc.nat(40), value }),
    fc.record({ kind: fc.constant('resize' as const), limit: fc.nat(4096) }),
  );

  test("is the same as the encoder's, whatever is added and evicted", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const model = new Model();
        const decoder = new HpackDecoder();
        for (const each of steps) {
          if (each.kind === 'resize') {
            model.limit = each.limit;
            model.evict();
            expect(decodeInto(decoder, integer(each.limit, 5, 0x20))).toEqual([]);
          } else if (each.kind === 'refer' || each.kind === 'rename') {
            const entry = model.entries[each.at];
            if (entry === undefined) continue;
            const [known, knownValue] = entry;
            if (each.kind === 'refer') {
              expect(decodeInto(decoder, integer(62 + each.at, 7, 0x80))).toEqual([`${known}: ${knownValue}`]);
              continue;
            }
            const block = Buffer.concat([integer(62 + each.at, 6, 0x40), text(each.value)]);
            expect(decodeInto(decoder, block)).toEqual([`${known}: ${each.value}`]);
            model.add(known, each.value);
          } else {
            const block = Buffer.concat([
              Buffer.of(each.kind === 'keep' ? 0x40 : 0x10),
              text(each.name),
              text(each.value),
            ]);
            expect(decodeInto(decoder, block)).toEqual([`${each.name}: ${each.value}`]);
            if (each.kind === 'keep') model.add(each.name, each.value);
          }
        }
        // One index beyond the last.
        expect(decodeInto(decoder, integer(62 + model.entries.length, 7, 0x80))).toBeUndefined();
      }),
    );
  });
});

test('literals that no table keeps, in a row and among others', () => {
  const one = fc.record({
    mark: fc.constantFrom(0x00, 0x10),
    name: fc.constantFrom('a', 'aa', 'b'),
    value: fc.constantFrom('', 'a', 'ab'),
    cut: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(one, { maxLength: 30 }), (literals) => {
      const decoder = new HpackDecoder();
      for (const { mark, name, value, cut } of literals) {
        const block = Buffer.concat([Buffer.of(mark), text(name), text(value)]);
        if (cut) expect(decodeInto(decoder, block.subarray(0, -1))).toBeUndefined();
        expect(decodeInto(decoder, Buffer.concat([block, Buffer.of(0x82)]))).toEqual([
          `${name}: ${value}`,
          ':method: GET',
        ]);
      }
    }),
  );
});

test('a literal whose name is in the table changes with the table', () => {
  const decoder = new HpackDecoder();
  const unkept = Buffer.from([0x0f, 62 - 15, ...text('v')]);
  for (const name of ['first', 'second']) {
    decodeInto(decoder, Buffer.concat([Buffer.of(0x40), text(name), text('x')]));
    expect(decodeInto(decoder, unkept)).toEqual([`${name}: v`]);
  }
});

test.each([
  ['index 0', [0x80]],
  ['an index beyond both tables', [0xbe]],
  ['a name of an index beyond both tables', [0x7f, 0x10, 1, 0x61]],
  ['a number without an end', [0xff, ...Array(20).fill(0xff)]],
  ['a number that is cut off', [0xff, 0x80]],
  ['a table larger than the default', [0x3f, 0xe2, 0x1f]],
  ['a new size of the table behind a field', [0x82, 0x20]],
  ['a literal that is cut off', [0x00, 3, 0x61]],
  ['a literal without a value', [0x00, 1, 0x61]],
  ['a value that is cut off', [0x00, 1, 0x61, 2, 0x61]],
  ['a literal in a code that is none', [0x00, 1, 0x61, 0x84, 0xff, 0xff, 0xff, 0xff]],
])('%s makes no sense', (_, bytes) => {
  expect(decode(bytes)).toBeUndefined();
});

test('any bytes are either decoded or refused', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 100 }), { maxLength: 5 }), (blocks) => {
      const decoder = new HpackDecoder();
      for (const block of blocks) {
        const fields = decodeInto(decoder, Buffer.from(block));
        // A field takes a byte at least.
        if (fields !== undefined) expect(fields.length).toBeLessThanOrEqual(block.length);
      }
    }),
  );
});

describe('RequestFields', () => {
  const METHOD = literal(':method', 'POST');
  const SCHEME = literal(':scheme', 'http');
  const SEEN = [METHOD, SCHEME, literal(':path', '/x')];
  const read = (...blocks: readonly Buffer[]) => {
    const fields = new RequestFields();
    expect(new HpackDecoder().decode(lend(Buffer.concat(blocks)), 0, Buffer.concat(blocks).length, fields)).toBe(true);
    return fields;
  };

  test('recognizes a request by its fields', () => {
    const fields = read(...SEEN, literal('te', 'trailers'), literal('content-length', '12'), literal('x-any', ''));
    expect(fields).toMatchObject({ isRequest: true, isTrailers: false, method: 'POST', path: '/x', declaredBytes: 12 });
  });

  const twice = (name: string): [string, Buffer[]] => [`${name} twice`, [...SEEN, literal(name, '/x')]];

  test.each<[string, Buffer[]]>([
    ['no method', SEEN.slice(1)],
    ['no path', SEEN.slice(0, 2)],
    ['an empty path', [...SEEN.slice(0, 2), literal(':path', '')]],
    ['no scheme', [METHOD, literal(':path', '/x')]],
    ...[':method', ':scheme', ':path'].map(twice),
    ['two authorities', [...SEEN, literal(':authority', 'a'), literal(':authority', 'a')]],
    ['a pseudo-header behind others', [...SEEN, literal('x', 'y'), literal(':authority', 'a')]],
    ['a pseudo-header of answers', [...SEEN, literal(':status', '200')]],
    ['a name in capitals', [...SEEN, literal('X-Any', 'y')]],
    ['a name with a space', [...SEEN, literal('x any', 'y')]],
    ['an empty name', [...SEEN, literal('', 'y')]],
    ['a header of connections', [...SEEN, literal('connection', 'close')]],
    ['te that is not trailers', [...SEEN, literal('te', 'gzip')]],
    ['a line feed in a value', [...SEEN, literal('x', 'a\nb')]],
    ['a space before a value', [...SEEN, literal('x', ' a')]],
    ['a length that is none', [...SEEN, literal('content-length', '1x')]],
    ['two lengths', [...SEEN, literal('content-length', '1'), literal('content-length', '1')]],
  ])('%s: no request', (_, blocks) => {
    expect(read(...blocks).isRequest).toBe(false);
  });

  test('trailers have no pseudo-headers', () => {
    expect(read(literal('x', 'y')).isTrailers).toBe(true);
    expect(read(literal(':authority', 'y')).isTrailers).toBe(false);
    expect(read(literal('X', 'y')).isTrailers).toBe(false);
  });

  test('detects too long headers, however few bytes were sent for them', () => {
    const long = literal('x', 'y'.repeat(120));
    const kept = Buffer.concat([Buffer.of(0x40), long.subarray(1)]);
    const bytes = (count: number) => [kept, Buffer.alloc(count, 0xbe)];
    expect(read(...bytes(107)).tooLong).toBe(true);
    expect(read(...bytes(106)).tooLong).toBe(false);
  });
});
