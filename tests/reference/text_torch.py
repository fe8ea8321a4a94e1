#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The peer of text.sh: the same configuration in PyTorch, evaluated over the whole validation split.

    tests/reference/text_torch.py FILE [SEED [THREADS]]

4 layers, 4 heads, width 128, windows of 64, batch 12, 2000 steps, tied head, no biases, exact GELU,
GPT-2 initialisation, AdamW (0.9, 0.99) with decay 0.1 on matrices, warmup 100, cosine 1e-3 to 1e-4.
"""
import math
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

LAYERS, HEADS, WIDTH, WINDOW, BATCH, STEPS = 4, 4, 128, 64, 12, 2000
WARMUP, PEAK, LEAST = 100, 1e-3, 1e-4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.attention_out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.mlp_in = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.mlp_out = nn.Linear(4 * WIDTH, WIDTH, bias=False)
        self.register_buffer("hidden", torch.tril(torch.ones(WINDOW, WINDOW)) == 0)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, HEADS, d // HEADS).transpose(1, 2)
                   for z in self.qkv(self.norm1(x)).split(d, 2))
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(d // HEADS)
        p = F.softmax(scores.masked_fill(self.hidden[:t, :t], float("-inf")), -1)
        x = x + self.attention_out((p @ v).transpose(1, 2).reshape(b, t, d))
        return x + self.mlp_out(F.gelu(self.mlp_in(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.tokens = nn.Embedding(vocab, WIDTH)
        self.positions = nn.Embedding(WINDOW, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH)
        for name, p in self.named_parameters():
            if p.dim() == 2:
                last = name.endswith("_out.weight")
                nn.init.normal_(p, 0, 0.02 / math.sqrt(2 * LAYERS) if last else 0.02)
            elif name.endswith("bias"):
                p.requires_grad_(False)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.tokens.weight)


def learning_rate(step):
    if step < WARMUP:
        return PEAK * (step + 1) / (WARMUP + 1)
    share = (step - WARMUP) / (STEPS - WARMUP)
    return LEAST + 0.5 * (1 + math.cos(math.pi * share)) * (PEAK - LEAST)


@torch.no_grad()
def whole_split(model, data):
    n = (len(data) - 1) // WINDOW
    x, y = data[:n * WINDOW].view(n, WINDOW), data[1:n * WINDOW + 1].view(n, WINDOW)
    total = sum(F.cross_entropy(model(x[i:i + 128]).flatten(0, 1), y[i:i + 128].flatten(),
                                reduction="sum").item() for i in range(0, n, 128))
    return total / (n * WINDOW)


def main():
    path = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    torch.set_num_threads(int(sys.argv[3]) if len(sys.argv) > 3 else 2)
    torch.manual_seed(seed)
    text = open(path, encoding="utf-8").read()
    index = {c: i for i, c in enumerate(sorted(set(text)))}
    data = torch.tensor([index[c] for c in text])
    cut = int(0.9 * len(data))
    train, held_out = data[:cut], data[cut:]
    model = Model(len(index))
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(
        [{"params": [p for p in trained if p.dim() >= 2], "weight_decay": 0.1},
         {"params": [p for p in trained if p.dim() < 2], "weight_decay": 0.0}],
        lr=PEAK, betas=(0.9, 0.99))
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step)
        at = torch.randint(len(train) - WINDOW, (BATCH,))
        x = torch.stack([train[i:i + WINDOW] for i in at])
        y = torch.stack([train[i + 1:i + WINDOW + 1] for i in at])
        optimizer.zero_grad()
        F.cross_entropy(model(x).flatten(0, 1), y.flatten()).backward()
        nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        if (step + 1) % 500 == 0:
            print(f"seed {seed}  step {step + 1}  loss of the whole validation split "
                  f"{whole_split(model, held_out):.4f}", flush=True)


if __name__ == "__main__":
    main()
