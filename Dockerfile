# The image for processors:
#     docker build -t gamedsl .
#     docker run --rm -v gamedsl:/home/gamedsl gamedsl train stag_hunt
FROM python:3.12-slim
RUN pip install --no-cache-dir uv==0.13.9
WORKDIR /src
COPY pyproject.toml hatch_build.py README.md LICENSE constraints.txt ./
COPY gamedsl gamedsl
COPY games games
COPY protocols protocols
COPY rewards rewards
ARG EXTRAS=train
RUN uv pip install --system --no-cache --torch-backend cpu -c constraints.txt ".[${EXTRAS}]" \
    && useradd --create-home --uid 1000 gamedsl
USER 1000
WORKDIR /home/gamedsl
ENTRYPOINT ["gamedsl"]
CMD ["--help"]
