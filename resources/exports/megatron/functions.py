def flags():
    """The settings as flags of Megatron-LM, which have the same words."""
    out = []
    for name, value in SETTINGS.items():
        out.append("--" + name.replace("_", "-"))
        if value is not True:
            out.append(str(value))
    return out


def configure(provider):
    """Gives a model provider of Megatron-Bridge the settings that it has fields for; batches and the optimizer's are the trainer's."""
    for name, value in SETTINGS.items():
        if hasattr(provider, name):
            setattr(provider, name, value)
    return provider


if __name__ == "__main__":
    print(" ".join(flags()))
