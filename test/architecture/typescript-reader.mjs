// TypeScript 7 has no JavaScript API, so dependency-cruiser reads the sources with TypeScript 5
// under the name that it knows.
import { registerHooks } from 'node:module';

registerHooks({
  resolve: (specifier, context, next) => next(specifier.replace(/^typescript(?=$|\/)/, 'typescript-5'), context),
});
