import { describe, expect, test } from 'vitest';
import { ANSWERS, gathered, readStream, responsesRequest } from './at-door.fixture.ts';
import { client, deliverTo, openDelivery } from './client.fixture.ts';
import { sendStream } from './egress.fixture.ts';

const { egress, delivery } = await openDelivery();

const respondWithJson = (json: string) =>
  egress.respondWith((response) => response.writeHead(200, { 'content-type': 'application/json' }).end(json));

describe('a client of Responses', () => {
  test.each(ANSWERS.filter(({ api, name }) => api === 'responses' || !MERGED.has(name)))(
    'gets the same from a stream as from JSON, of $api: $name',
    async ({ api, json, stream }) => {
      const include = ['reasoning.encrypted_content'];
      respondWithJson(json);
      const whole = client();
      const asked = await deliverTo(delivery, whole, await responsesRequest(api, { include }));
      const response = JSON.parse(whole.text() === '' ? String(whole.responses[0]?.body) : whole.text());
      expect(response).toMatchObject({ id: 'gen-TEST', model: 'public-model', object: 'response', store: false });

      egress.respondWith(sendStream([stream]));
      const to = client();
      const streamed = await deliverTo(delivery, to, await responsesRequest(api, { include }, { stream: true }));
      const events = await readStream(to.text());
      expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, number) => number));
      expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.in_progress']);
      const final = await gathered(to.text());
      const { output, usage, status } = final;
      expect({ output: meaning(output), usage, status }).toEqual({
        output: meaning(response.output),
        ...{ usage: response.usage, status: response.status },
      });
      expect(usage).toMatchObject({ cost: 0.25 });
      expect(asked.charges).toMatchObject([{ usageCounted: false, api: 'responses' }]);
      expect(streamed.charges).toMatchObject([{ usageCounted: false, usage: asked.charges[0]?.usage }]);
    },
  );
});

/** Chat's JSON has one message of two, and no room for what stood between. */
const MERGED: ReadonlySet<string> = new Set(['TWO_MESSAGES of responses']);

/** Items without their ids, which differ from response to response. */
function meaning(output: readonly object[]): unknown {
  return JSON.parse(JSON.stringify(output), (name, value) =>
    name === 'id' || name === 'bytes' || name === 'parsed' || name === 'parsed_arguments' ? undefined : value,
  );
}
