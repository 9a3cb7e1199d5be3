import { expect, test } from 'vitest';
import { lend } from './borrowed-bytes.ts';
import { decodeHuffman } from './huffman.ts';

const decode = (hex: string) => decodeHuffman(lend(Buffer.from(hex, 'hex')), 0, hex.length / 2);

// RFC 7541, appendix C.4 and C.6.
test.each([
  ['f1e3c2e5f23a6ba0ab90f4ff', 'www.example.com'],
  ['a8eb10649cbf', 'no-cache'],
  ['25a849e95ba97d7f', 'custom-key'],
  ['25a849e95bb8e8b4bf', 'custom-value'],
  ['6402', '302'],
  ['aec3771a4b', 'private'],
  ['d07abe941054d444a8200595040b8166e082a62d1bff', 'Mon, 21 Oct 2013 20:13:21 GMT'],
  ['9d29ad171863c78f0b97c8e9ae82ae43d3', 'https://www.example.com'],
  [
    '94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007',
    'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
  ],
  ['', ''],
])('%s is %s', (hex, text) => {
  expect(decode(hex)).toBe(text);
});

// The longest codes: 30 bits for CR and LF, 28 for the byte 255 is not one of them, so these two
// and its neighbours of appendix B.
test.each([
  [['fffffff3'], '\n'],
  [['fffffff7'], '\r'],
])('%s is a code of 30 bits', ([hex = ''], text) => {
  expect(decode(hex)).toBe(text);
});

test.each([
  ['the end of text as a symbol', 'ffffffff'],
  ['padding that is not of ones', '00'],
  ['padding of eight bits', 'aec3771a4bff'],
])('%s is refused', (_, hex) => {
  expect(decode(hex)).toBeUndefined();
});
