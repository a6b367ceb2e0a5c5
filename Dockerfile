# syntax=docker/dockerfile:1

# Any Node with npm works here: npm ci installs the one that runs Postern (docs/decisions/001-node-from-npm.md).
FROM node:24-bookworm-slim AS build
WORKDIR /postern
COPY package.json package-lock.json ./
# The node package has copied its binary; the archive it came from is no longer needed.
RUN npm ci --omit=dev && npm cache clean --force && rm -rf node_modules/node/node_modules
COPY bin bin
COPY src src

FROM debian:bookworm-slim
# Node needs libatomic; its other libraries are in the base image.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends libatomic1 ca-certificates \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --system --uid 10001 --user-group --home-dir /data --shell /usr/sbin/nologin postern \
  && install --directory --owner=postern --group=postern --mode=0700 /data
COPY --from=build /postern /postern
WORKDIR /postern
# A missing library fails the build instead of the first start.
RUN node_modules/.bin/node --version

# root owns the code and the process runs as postern, so it can only write to /data.
USER 10001:10001
VOLUME /data
ENV POSTERN_HOST=0.0.0.0 \
  POSTERN_DATA_DIR=/data \
  NODE_COMPILE_CACHE=/tmp/postern
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node_modules/.bin/node", "-e", "fetch(`http://127.0.0.1:${process.env.POSTERN_PORT ?? 3000}/health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["bin/postern"]
CMD ["serve"]
