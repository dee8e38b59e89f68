except ImportError as problem:
    if __name__ != "__main__":
        raise
    print(f"skipped: this Python has no MAX with the interface of {PROFILE} ({problem})")
    sys.exit(77)
