"""Parts of your own: base classes to derive from, and the registries that give them names."""

import lazy_loader

# What the stub beside this module names is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
