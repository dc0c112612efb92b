from rooflight.catalog.config.fields import Config
import msgspec
def plan_of(outer, cfg, sidecar): return None
def apply(text, plan, dtype): return text
