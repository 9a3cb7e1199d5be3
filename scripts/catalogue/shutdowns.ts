/** Days of shutdown that the map lacks. */
interface Shutdown {
  readonly ids: readonly string[];
  readonly day: string;
  readonly source: string;
  readonly why: string;
}

export const SHUTDOWNS: readonly Shutdown[] = [
  {
    ids: ['deepseek/deepseek-coder', 'deepseek/deepseek-r1', 'deepseek/deepseek-v3', 'deepseek/deepseek-v3.2'],
    day: '2026-07-24',
    source: 'https://api-docs.deepseek.com/news/news260424',
    why: 'They were served as deepseek-chat and deepseek-reasoner, which ended on that day. DeepSeek lists V4 alone.',
  },
];

export function shutdownOf(id: string): string | undefined {
  return SHUTDOWNS.find(({ ids }) => ids.includes(id))?.day;
}
