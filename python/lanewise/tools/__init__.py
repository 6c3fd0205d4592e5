"""What benchmark tools say and take: outputs of instruments, fio's job files."""
