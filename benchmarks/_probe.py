"""temporary"""

import sys, time, json, torch

sys.path.insert(0, ".")
from trainer.profile import read_profile
from trainer.distributed import join
from trainer.strategies import strategy_of

sys.path.insert(0, "benchmarks")
import trainer_gpu as g

sets = [s for s in g.OURS if not s.startswith("train.data")] + sys.argv[2:]
t = read_profile(sys.argv[1], sets).train
place = join(t)
strategy = strategy_of(t)
s = strategy.wrap(t, place)
B, T = t.device_batch_size, t.model.context
x = torch.randint(0, t.model.vocab_size, (B, T + 1), device="cuda")
batch = [{"input": x[:, :-1].contiguous(), "label": x[:, 1:].contiguous()}]
c = {"tokens": float(B * T), "samples": float(B)}
t0 = time.time()
for i in range(8):
    o = strategy.step(s, batch, c, i)
torch.cuda.synchronize()
print("warm", time.time() - t0)
t0 = time.time()
n = 20
for i in range(n):
    o = strategy.step(s, batch, c, i)
torch.cuda.synchronize()
dt = (time.time() - t0) / n
print(
    "RATE",
    sys.argv[2:],
    f"{B * T / dt:,.0f} tok/s {dt * 1e3:.2f} ms mem {torch.cuda.max_memory_allocated() / 1e9:.1f} loss {o.loss.item():.4f}",
    flush=True,
)
from torch.profiler import profile, ProfilerActivity

with profile(activities=[ProfilerActivity.CUDA]) as p:
    for i in range(3):
        strategy.step(s, batch, c, i)
    torch.cuda.synchronize()
rows = sorted(p.key_averages(), key=lambda e: -e.self_device_time_total)[:22]
tot = sum(e.self_device_time_total for e in p.key_averages())
print("total device ms/step", tot / 3e3)
for e in rows:
    print(f"{e.self_device_time_total / 3e3:8.2f} ms {e.count // 3:5d} {e.key[:110]}")
