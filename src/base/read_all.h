#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay {

/// pread() and pwrite() of all bytes. False at an early end or an error: errno says which error; an early
/// end of a read leaves it as it was. May wait for the device.
bool read_all(int fd, void* data, size_t size, uint64_t offset);
bool write_all(int fd, const void* data, size_t size, uint64_t offset);

}  // namespace forebay
