import type { Disputed } from '#core/model-catalogue/catalogue-model.ts';

/** By kind of price: LiteLLM's value, then that of genai-prices. */
export type Differing = {
  readonly [Kind in keyof Disputed]: readonly [NonNullable<Disputed[Kind]>, NonNullable<Disputed[Kind]>];
};

/** A dispute between the two sources that a person has resolved. */
export interface Choice {
  readonly ids: readonly string[];
  readonly differing: Differing;
  /** The source whose prices are in the catalogue. */
  readonly trusted: 'litellm' | 'genai-prices';
  readonly why: string;
}

/** Resolved on 24 November 2026. */
export const CHOICES: readonly Choice[] = [
  {
    ids: ['anthropic/claude-sonnet-4-5', 'anthropic/claude-sonnet-4-5-20250929'],
    differing: { above: [[], [200_000]] },
    trusted: 'litellm',
    why: 'Its window is 200,000 tokens since the 1M beta ended on 30 April; longer prompts are refused.',
  },
  {
    ids: ['deepseek/deepseek-chat'],
    differing: { input: [0.28, 0.27], cached_input: [0.028, 0.07], output: [0.42, 1.1] },
    trusted: 'litellm',
    why: 'It has the price of V3.2, the last model that this name stood for, and not that of V3.',
  },
  {
    ids: ['deepseek/deepseek-reasoner'],
    differing: { input: [0.28, 0.55], cached_input: [0.028, 0.14], output: [0.42, 2.19] },
    trusted: 'litellm',
    why: 'It has the price of V3.2, the last model that this name stood for, and not that of R1.',
  },
  {
    ids: ['deepseek/deepseek-v3.2'],
    differing: { input: [0.28, 0.2288], output: [0.4, 0.3432] },
    trusted: 'litellm',
    why: 'Neither cites a page. The higher price sells no request below its cost.',
  },
  {
    ids: ['mistral/magistral-medium-latest'],
    differing: { input: [1.5, 2], output: [7.5, 5] },
    trusted: 'litellm',
    why: 'Magistral Medium was deprecated on 22 May in favour of Medium 3.5, whose price this is.',
  },
  {
    ids: ['mistral/magistral-small-latest'],
    differing: { input: [0.15, 0.5], output: [0.6, 1.5] },
    trusted: 'litellm',
    why: 'Magistral Small was deprecated on 30 April in favour of Small 4, whose price this is.',
  },
  {
    ids: ['mistral/mistral-large-latest'],
    differing: { input: [0.5, 2], output: [1.5, 6] },
    trusted: 'litellm',
    why: 'It has the price of Large 3. The other one is that of Large 2.',
  },
  {
    ids: ['mistral/mistral-medium'],
    differing: { input: [1.5, 0.4], cached_input: [0.15, 0.04], output: [7.5, 2] },
    trusted: 'litellm',
    why: 'It has the price of Medium 3.5. The other one is that of Medium 3 and 3.1.',
  },
  {
    ids: ['mistral/open-mistral-nemo'],
    differing: { input: [0.3, 0.15], output: [0.3, 0.15] },
    trusted: 'genai-prices',
    why: 'Mistral lowered the price of Nemo to 0.15 in September 2024.',
  },
  {
    ids: ['openai/gpt-5.6-cyber'],
    differing: { above: [[272_000], []] },
    trusted: 'litellm',
    why: 'The pricing page is silent about long prompts. The higher price sells none below its cost.',
  },
  {
    ids: ['xai/grok-code-fast', 'xai/grok-code-fast-1', 'xai/grok-code-fast-1-0825'],
    differing: { input: [1, 0.2], cached_input: [0.2, 0.02], output: [2, 1.5], above: [[200_000], []] },
    trusted: 'litellm',
    why: 'It has the price of Grok Build 0.1, since grok-code-fast-1 was shut down on 15 May.',
  },
];
