# anyscene serve in a container: non-root, and content with a read-only file system.
#   docker build -t anyscene .
#   docker run --rm --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
#     -p 127.0.0.1:8000:8000 -e ANYSCENE_TOKEN=$(openssl rand -hex 16) anyscene
FROM python:3.11-slim AS build
COPY pyproject.toml README.md LICENSE NOTICE constraints.txt /src/
COPY src /src/src
RUN python -m venv /opt/anyscene \
 && /opt/anyscene/bin/pip install --no-cache-dir -c /src/constraints.txt "/src[server]"

FROM python:3.11-slim
COPY --from=build /opt/anyscene /opt/anyscene
# Volumes that are mounted at these two folders take their owner from them.
RUN useradd --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin anyscene \
 && install -d -o anyscene -g anyscene /tmp/anyscene /tmp/numba
USER 10001
# Compiled kernels, and what was measured of the machine, are kept in the two folders; docs/server.md shows the volumes.
ENV PATH=/opt/anyscene/bin:$PATH HOME=/tmp NUMBA_CACHE_DIR=/tmp/numba ANYSCENE_CACHE=/tmp/anyscene PYTHONDONTWRITEBYTECODE=1
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=120s \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/readyz', timeout=2)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["anyscene", "serve", "--host", "0.0.0.0"]
