// Compiled twice by the compiler of tools/wheel, as a shared object (-DSHARED) and as a program that loads it, and run in bare roots. Both have
// the C++ library and the unwinder in them: exceptions must pass from one to the other, and between threads.
#include <dlfcn.h>

#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#ifdef SHARED

// Throws what the C++ library itself throws, and an exception of this file.
extern "C" __attribute__((visibility("default"))) void throw_one(int which) {
  if (which % 2 == 0) (void)std::filesystem::file_size("/nothing/here");
  throw std::runtime_error("own " + std::to_string(which));
}

#else

namespace {

using Throw = void (*)(int);

// Number of exceptions that came as what they are.
int caught_of(Throw throw_one) {
  int caught = 0;
  for (int i = 0; i < 1000; ++i) {
    try {
      throw_one(i);
    } catch (const std::filesystem::filesystem_error& error) {
      caught += i % 2 == 0 && error.code().value() == ENOENT;
    } catch (const std::exception& error) {
      caught += error.what() == "own " + std::to_string(i);
    }
  }
  return caught;
}

std::exception_ptr captured(Throw throw_one) {
  try {
    throw_one(1);
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

bool crosses_threads(Throw throw_one) {
  std::exception_ptr error;
  std::thread([&] { error = captured(throw_one); }).join();
  try {
    std::rethrow_exception(error);
  } catch (const std::runtime_error& same) {
    return std::string(same.what()) == "own 1";
  }
  return false;
}

bool waits_and_draws() {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  const bool timed_out = never.wait_for(lock, std::chrono::milliseconds(1)) == std::cv_status::timeout;
  std::random_device device;
  std::vector<unsigned> drawn(16);
  for (unsigned& number : drawn) number = device();
  const bool all_same = drawn == std::vector<unsigned>(16, drawn[0]);
  return timed_out && !all_same && std::exp(0.0) == 1.0;
}

bool fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  return false;
}

bool all_work(Throw throw_one) {
  std::vector<int> counts(4);
  std::vector<std::thread> threads;
  for (int& count : counts) threads.emplace_back([&count, throw_one] { count = caught_of(throw_one); });
  for (std::thread& thread : threads) thread.join();
  if (counts != std::vector<int>(4, 1000)) return fail("exceptions of a shared object are lost");
  if (!crosses_threads(throw_one)) return fail("an exception does not pass between threads");
  return waits_and_draws() || fail("waiting or random numbers do not work");
}

}  // namespace

int main(int, char** arguments) {
  void* const shared = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (shared == nullptr) return fail(dlerror()) ? 0 : 1;
  if (!all_work(reinterpret_cast<Throw>(dlsym(shared, "throw_one")))) return 1;
  std::puts("exceptions work");
  return 0;
}

#endif
