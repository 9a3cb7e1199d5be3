# One image for the gateway process, the dashboard, the demo provider and the command line. Envoy,
# PostgreSQL and Redis have their own images.
#   docker build -t inference-gateway .          another base: --build-arg NODE_IMAGE=…
ARG NODE_IMAGE=node:24-bookworm-slim

# Builds the page. The development tools stay in this stage.
FROM ${NODE_IMAGE} AS page
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
COPY tsconfig.json ./
COPY contract contract
COPY core core
COPY database database
COPY ext-proc ext-proc
COPY packages packages
COPY dashboard dashboard
COPY docs docs
RUN node_modules/.bin/vite build dashboard/web
COPY envoy envoy
COPY scripts scripts
RUN node scripts/sbom.ts --image >sbom.cdx.json

# Leaves out optional packages, which only `npm start` needs: embedded PostgreSQL and Node.
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
# Mount /data (charge log, Envoy's generated files, sockets) and share it with Envoy, which runs
# as the same user.
RUN mkdir -m 0750 /data compiled && chown 10001:10001 /data compiled
COPY --from=dependencies /app/node_modules node_modules
COPY package.json ./
COPY contract contract
COPY core core
COPY database database
COPY ext-proc ext-proc
COPY packages packages
COPY envoy envoy
COPY operator operator
COPY supervisor supervisor
COPY demo demo
COPY dashboard dashboard
COPY --from=page /app/dashboard/dist dashboard/dist
# The bill of materials: docker run --rm --entrypoint cat IMAGE sbom.cdx.json
COPY --from=page /app/sbom.cdx.json ./
COPY deploy/gateway /usr/local/bin/gateway
# docker-compose.yml mounts the folder of the configuration, and the folders of secrets and of the
# certificate. Paths in the file are relative to /config. Kubernetes mounts the file itself.
RUN mkdir /config && ln -s gateway/gateway.yaml /config/gateway.yaml
USER 10001:10001
# Compiles the programs, which saves half the CPU of a start. Each program ends because there is no
# configuration. Node uses the result for this user only.
RUN for program in ext-proc dashboard/server operator; do node $program/main.ts check-config /none; done >/dev/null 2>&1; test -n "$(ls compiled)"
VOLUME /data
# No signal opens a debugger, through whose port every user of the machine could read secrets. The
# other options are those of supervisor/supervisor.ts.
CMD ["node", "--disable-sigusr1", "--max-semi-space-size=32", "ext-proc/main.ts"]
