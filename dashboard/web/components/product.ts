const DEFAULT = 'Inference Gateway';

/** Name and logo of the operator, which the server writes into the page. */
export const PRODUCT = document.querySelector<HTMLMetaElement>('meta[name="application-name"]')?.content ?? DEFAULT;
export const LOGO = document.querySelector('link[rel="icon"]')?.getAttribute('href') ?? '/favicon.svg';
