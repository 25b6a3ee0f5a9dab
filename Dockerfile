# factdrift in a container: `docker build .`, or `docker compose up`, which adds Kafka and Redis.

FROM python:3.11-slim AS build
WORKDIR /source
RUN python -m venv /opt/factdrift
ENV PATH="/opt/factdrift/bin:$PATH"
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY state state
COPY streams streams
COPY agents agents
# Every version is pinned: delivery was tested with exactly these (constraints.txt).
RUN pip install --no-cache-dir --constraint constraints.txt .

FROM python:3.11-slim
# The venv is made for this path; it holds the project, so the sources stay behind.
COPY --from=build /opt/factdrift /opt/factdrift
ENV PATH="/opt/factdrift/bin:$PATH" PYTHONUNBUFFERED=1
RUN useradd --system --uid 10001 --create-home --home-dir /var/lib/factdrift factdrift
USER factdrift
WORKDIR /var/lib/factdrift
CMD ["factdrift", "--help"]
