# factdrift in a container: `docker build .`, or `docker compose up`, which adds everything around it.

FROM python:3.11.13-slim-bookworm AS build
WORKDIR /source
RUN python -m venv /opt/factdrift
ENV PATH="/opt/factdrift/bin:$PATH"
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY state state
COPY streams streams
COPY agents agents
COPY examples examples
# Every version is pinned: delivery was tested with exactly these (constraints.txt).
RUN pip install --no-cache-dir --constraint constraints.txt ".[dashboard,otel,postgres]"

FROM python:3.11.13-slim-bookworm
# The venv is made for this path; it holds the project, so the sources stay behind.
COPY --from=build /opt/factdrift /opt/factdrift
ENV PATH="/opt/factdrift/bin:$PATH" PYTHONUNBUFFERED=1 FACTDRIFT_DATA=/var/lib/factdrift
RUN useradd --system --uid 10001 --create-home --home-dir /var/lib/factdrift factdrift
# By number, so that a cluster can see that it is not root.
USER 10001
WORKDIR /var/lib/factdrift
CMD ["factdrift", "--help"]
