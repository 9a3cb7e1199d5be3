/** The images of docker-compose.yml by the variable that overrides each. */
const IMAGES = {
  NODE_IMAGE: 'node:24-bookworm-slim',
  ENVOY_IMAGE: 'envoyproxy/envoy:v1.39.3',
  POSTGRES_IMAGE: 'postgres:18',
  REDIS_IMAGE: 'redis:8',
} as const;

export type ImageVariable = keyof typeof IMAGES;

export function imageOf(variable: ImageVariable): string {
  return process.env[variable] ?? IMAGES[variable];
}
