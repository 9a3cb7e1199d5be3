import { describe, expect, it } from 'vitest';
import { acceptedChat, readBody, sentBody, verdictOf } from '#test/fixtures/chat-request.ts';

const IMAGE = 'data:image/png;base64,QUJD';
const INSIDE = 'http://169.254.169.254/';

const verdict = (body: string) => verdictOf(readBody(body));

const withPart = (part: string) => `{"model":"m","messages":[{"role":"user","content":[${part}]}]}`;
const withMessage = (members: string) => `{"model":"m","messages":[{"role":"user","content":"hi",${members}}]}`;
const withField = (field: string) => `{"model":"m","messages":[{"role":"user","content":"hi"}],${field}}`;
const withImage = (url: string) => withPart(`{"type":"image_url","image_url":{"url":"${IMAGE}",${url}:"${INSIDE}"}}`);
const withCall = (members: string) =>
  `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"a","type":"function",${members}}]}]}`;
const withTool = (members: string) => withField(`"tools":[{"type":"function",${members}}]`);
const withFormat = (members: string) => withField(`"response_format":{${members}}`);
const SCHEMA = '"type":"json_schema","json_schema":{"name":"a",';

describe('a nested name that differs from a known one only by case', () => {
  it.each([
    ['a second address beside the judged one', withImage('"URL"'), 'messages[0].content[0].image_url.URL'],
    ['the same, escaped', withImage('"\\u0055\\u0052L"'), 'messages[0].content[0].image_url.URL'],
    ['a second type', withPart('{"type":"text","text":"hi","Type":"image_url"}'), 'messages[0].content[0].Type'],
    ['a type alone', withPart('{"Type":"text","text":"hi"}'), 'messages[0].content[0].Type'],
    ['a role alone', '{"model":"m","messages":[{"Role":"user","content":"hi"}]}', 'messages[0].Role'],
    ['another part’s name', withPart('{"type":"text","text":"hi","IMAGE_URL":{}}'), 'messages[0].content[0].IMAGE_URL'],
    ['a member of a message', withMessage('"Content":"other"'), 'messages[0].Content'],
    ['a long S, which Go takes for an S', withMessage('"tool_callſ":[]'), 'messages[0].tool_callſ'],
    ['a Kelvin sign in an escape', withMessage('"to\\u212a":1,"\\u017ftrict":1'), 'messages[0].ſtrict'],
    ['a tool call', withCall('"ID":"b","function":{"name":"f","arguments":""}'), 'messages[0].tool_calls[0].ID'],
    [
      'a called function',
      withCall('"function":{"name":"f","arguments":"","Arguments":"x"}'),
      'messages[0].tool_calls[0].function.Arguments',
    ],
    ['a tool', withTool('"function":{"name":"f"},"Function":{}'), 'tools[0].Function'],
    ['a tool’s function', withTool('"function":{"name":"f","Parameters":{}}'), 'tools[0].function.Parameters'],
    [
      'a tool that is chosen',
      withField('"tool_choice":{"type":"function","function":{"name":"f","NAME":"g"}}'),
      'tool_choice.function.NAME',
    ],
    ['a response format', withFormat('"type":"text","Json_Schema":{}'), 'response_format.Json_Schema'],
    ['a response’s schema', withFormat(`${SCHEMA}"Schema":{}}`), 'response_format.json_schema.Schema'],
    ['options of streams', withField('"stream_options":{"Include_Usage":true}'), 'stream_options.Include_Usage'],
  ])('is refused: %s', (_, body, param) => expect(verdict(body)).toBe(`invalid_request ${param}`));

  it.each([
    [
      'JSON Schemas',
      withTool('"function":{"name":"f","parameters":{"Type":"object","properties":{"URL":{},"Name":{}}}}'),
    ],
    ['the schema of a response', withFormat(`${SCHEMA}"schema":{"Type":"object"}}`)],
    ['members that nobody knows', withMessage('"reasoning_content":"x","Reasoning":{"Type":1},"URLs":[{"URL":1}]')],
  ])('is accepted in %s', (_, body) => expect(verdict(body)).toBe('ok'));
});

describe('media of another type in a part', () => {
  it.each([
    ['image_url', 'text', `{"type":"text","text":"hi","image_url":{"url":"http://10.0.0.1/"}}`],
    ['video_url', 'text', `{"type":"text","text":"hi","video_url":{"url":"http://10.0.0.1/"}}`],
    ['image_url', 'text', `{"image_\\u0075rl":{"url":"http://10.0.0.1/"},"text":"hi","type":"text"}`],
    ['input_audio', 'text', `{"type":"text","text":"hi","input_audio":{"data":"QQ==","format":"wav"}}`],
    ['file', 'text', `{"type":"text","text":"hi","file":{"file_id":"a"}}`],
    ['video_url', 'image_url', `{"type":"image_url","image_url":{"url":"${IMAGE}"},"video_url":{"url":"x"}}`],
    ['image_url', 'refusal', `{"type":"refusal","refusal":"no","image_url":"http://10.0.0.1/"}`],
  ])('%s in a part of type %s is refused', (member, _, part) =>
    expect(verdict(withPart(part))).toBe(`invalid_request messages[0].content[0].${member}`),
  );

  it('is accepted if it is null, as some clients write an absent member', () =>
    expect(verdict(withPart('{"type":"text","text":"hi","image_url":null,"file":null}'))).toBe('ok'));
});

const sent = (body: string) => sentBody(acceptedChat(body));

describe('a repeated member', () => {
  it('reaches the provider once, with its last value', () => {
    const body = sent(withPart(`{"type":"image_url","image_url":{"url":"${INSIDE}","\\u0075rl":"${IMAGE}"}}`));
    expect(body).not.toContain('169.254');
    expect(body).toContain(`"\\u0075rl":"${IMAGE}"`);
  });

  it.each([
    ['messages', '[{"role":"user","content":"one"}]', '[{"role":"user","content":"two"}]'],
    ['messages', '[{"role":"user","content":[{"type":"text","text":"one"}]}]', '[{"role":"user","content":"two"}]'],
    ['stop', '["one"]', '["two"]'],
    ['stream_options', '{"include_usage":true}', '{"include_obfuscation":false}'],
    ['tools', '[]', '[{"type":"function","function":{"name":"f"}}]'],
  ])('%s: the first one, %s, is neither read nor sent', (name, first, last) => {
    const others = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
    const front = JSON.stringify({ ...others, [name]: 0 }).replace(`"${name}":0`, `"${name}":${first}`);
    const body = sent(`${front.slice(0, -1)},"${name}":${last}}`);
    expect(body).not.toContain('one');
    expect(JSON.parse(body)[name]).toEqual(JSON.parse(last));
  });

  it('is skipped with all its contents if it is nested', () => {
    const content = '[{"type":"text","text":"one"},{"type":"image_url","image_url":{"url":"http://10.0.0.1/"}}]';
    expect(sent(withMessage(`"content":${content},"content":"two"`))).toContain('"content":"two"');
  });
});
