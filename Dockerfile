# One image for the gateway process, the dashboard, the demo provider and the operator's command line; Envoy, PostgreSQL and Redis have
# their own. Build: docker build -t inference-gateway .   Another base: --build-arg NODE_IMAGE=…
ARG NODE_IMAGE=node:24-bookworm-slim

# The page is built with the tools of development, which stay in this stage.
FROM ${NODE_IMAGE} AS page
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
COPY tsconfig.json ./
COPY core core
COPY database database
COPY ext-proc ext-proc
COPY packages packages
COPY dashboard dashboard
RUN node_modules/.bin/vite build dashboard/web
COPY envoy envoy
COPY scripts scripts
RUN node scripts/sbom.ts --image >sbom.cdx.json

# What is optional is made for `npm start`: the embedded PostgreSQL and a Node of its own.
FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund --loglevel=error

FROM ${NODE_IMAGE}
ENV NODE_ENV=production \
    GATEWAY_CONFIG=/config/gateway.yaml \
    GATEWAY_DATA=/data \
    NODE_COMPILE_CACHE=/app/compiled
WORKDIR /app
# The folder of spool, generated Envoy files and sockets, to be mounted and shared with Envoy, which runs as the same user.
RUN mkdir -m 0750 /data compiled && chown 10001:10001 /data compiled
COPY --from=dependencies /app/node_modules node_modules
COPY package.json ./
COPY core core
COPY database database
COPY ext-proc ext-proc
COPY packages packages
COPY envoy envoy
COPY operator operator
COPY supervisor supervisor
COPY proto proto
COPY demo demo
COPY dashboard dashboard
COPY --from=page /app/dashboard/dist dashboard/dist
# What is in here, for whoever asks: docker run --rm --entrypoint cat IMAGE sbom.cdx.json
COPY --from=page /app/sbom.cdx.json ./
COPY deploy/gateway /usr/local/bin/gateway
# docker-compose.yml mounts the folder of the configuration, and those of secrets and certificate only where they are used; paths in the file
# count from the link's folder. Kubernetes mounts the file itself.
RUN mkdir /config && ln -s gateway/gateway.yaml /config/gateway.yaml
USER 10001:10001
# What Node would compile anew at each start, half of its CPU. Each of them ends because there is no configuration; Node keeps it for this user only.
RUN for program in ext-proc dashboard/server operator; do node $program/main.ts check-config /none; done >/dev/null 2>&1; test -n "$(ls compiled)"
VOLUME /data
# A signal opens no debugger, whose port every user of the machine could read secrets through. The young generation is where requests live; larger, it is collected less often (docs/performance.md).
CMD ["node", "--disable-sigusr1", "--max-semi-space-size=16", "ext-proc/main.ts"]
