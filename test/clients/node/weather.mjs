/** The only tool. Its result depends on the model's argument. */
export const weatherIn = (city) => `21 degrees and sunny in ${city}`;
export const WEATHER = {
  name: 'weather',
  description: 'Weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
