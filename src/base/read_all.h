#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay {

/// Read and write all bytes by pread() and pwrite(). Return false after an error, which errno
/// gives, and if a read reaches the end of the file, which leaves errno unchanged. May wait for the
/// device.
bool read_all(int fd, void* data, size_t size, uint64_t offset);
bool write_all(int fd, const void* data, size_t size, uint64_t offset);

}  // namespace forebay
