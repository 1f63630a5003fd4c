/* The C interface from C99: what it promises, each promise once. Exit code 0 when all of them hold. */
#define _POSIX_C_SOURCE 200809L
#include <forebay/forebay.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int failures = 0;

#define EXPECT(condition)                                                                                    \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      printf("%s:%d: %s does not hold (last error: %s)\n", __FILE__, __LINE__, #condition, fb_last_error_message()); \
      ++failures;                                                                                            \
    }                                                                                                        \
  } while (0)

enum { kRows = 100 };

static char folder[] = "/tmp/forebay-c-XXXXXX";

static char* path_of(const char* name) {
  static char path[4][256];
  static int next = 0;
  char* const text = path[next++ % 4];
  snprintf(text, 256, "%s/%s", folder, name);
  return text;
}

/* 100 numbers, each its row's, as NumPy writes them. */
static void write_numbers(const char* path) {
  char header[128];
  FILE* const file = fopen(path, "wb");
  int64_t i;
  memset(header, ' ', sizeof header);
  memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
  memcpy(header + 10, "{'descr': '<i8', 'fortran_order': False, 'shape': (100,), }", 59);
  header[127] = '\n';
  fwrite(header, 1, sizeof header, file);
  for (i = 0; i < kRows; ++i) fwrite(&i, sizeof i, 1, file);
  fclose(file);
}

static void write_lines(const char* path) {
  FILE* const file = fopen(path, "wb");
  fputs("one\ntwo\nthree\n", file);
  fclose(file);
}

static char* numbers_pipeline(void) {
  static char json[512];
  snprintf(json, sizeof json, "{\"forebay_pipeline\": 1, \"steps\": [{\"op\": \"arrays\", \"fields\": {\"x\": \"%s\"}}, {\"op\": \"shuffle\"}, {\"op\": \"batch\", \"n\": 7}]}",
           path_of("x.npy"));
  return json;
}

static char* lines_pipeline(void) {
  static char json[512];
  snprintf(json, sizeof json, "{\"forebay_pipeline\": 1, \"steps\": [{\"op\": \"text\", \"pattern\": \"%s\"}, {\"op\": \"batch\", \"n\": 3}]}", path_of("lines.txt"));
  return json;
}

static fb_loader* open_numbers(const char* options) {
  fb_loader* loader = NULL;
  EXPECT(fb_open(numbers_pipeline(), options, &loader) == FB_OK);
  EXPECT(loader != NULL);
  return loader;
}

/* The sum of all x of an epoch's rest, and how many rows it had. */
static int64_t sum_of_epoch(fb_loader* loader, int64_t* rows) {
  fb_batch* batch = NULL;
  int64_t sum = 0;
  fb_code code;
  *rows = 0;
  while ((code = fb_next(loader, -1, &batch)) == FB_OK) {
    fb_batch_info info = {sizeof info, 0, 0, 0, 0, NULL, NULL, 0, 0};
    fb_field x;
    int32_t number = -1;
    int64_t i;
    memset(&x, 0, sizeof x);
    x.struct_size = sizeof x;
    EXPECT(fb_batch_describe(batch, &info) == FB_OK);
    EXPECT(info.fields == 1 && info.padding == 0);
    EXPECT(fb_batch_find(batch, "x", &number) == FB_OK);
    EXPECT(fb_batch_field(batch, number, &x) == FB_OK);
    EXPECT(x.kind == FB_DENSE && x.arrays == 1 && x.values.type == FB_INT && x.values.bits == 64);
    EXPECT(x.values.dimensions == 1 && x.values.shape[0] == info.rows);
    EXPECT(x.values.bytes == (uint64_t)info.rows * 8 && (uintptr_t)x.values.data % 64 == 0);
    for (i = 0; i < info.rows; ++i) {
      const int64_t value = ((const int64_t*)x.values.data)[i];
      EXPECT(value == info.ids[i]);
      sum += value;
    }
    *rows += info.rows;
    EXPECT(fb_batch_free(batch) == FB_OK);
  }
  EXPECT(code == FB_END_OF_EPOCH);
  EXPECT(batch == NULL);
  return sum;
}

static void epochs_end_and_then_all_is_finished(void) {
  fb_loader* const loader = open_numbers("{\"seed\": 7, \"epochs\": 2, \"threads\": 2}");
  fb_loader_info info;
  fb_batch* batch = NULL;
  int64_t rows = 0;
  int epoch;
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  EXPECT(fb_loader_describe(loader, &info) == FB_OK);
  EXPECT(info.samples == kRows && info.batches_per_epoch == 15 && info.world_size == 1 && info.rank == 0 && !info.finished);
  EXPECT(strlen(info.fingerprint) == 32);
  for (epoch = 0; epoch < 2; ++epoch) {
    EXPECT(sum_of_epoch(loader, &rows) == 4950);
    EXPECT(rows == kRows);
  }
  EXPECT(fb_next(loader, -1, &batch) == FB_FINISHED);
  EXPECT(fb_next(loader, 0, &batch) == FB_FINISHED);
  EXPECT(fb_loader_free(loader) == FB_OK);
}

static void a_state_goes_on_where_it_was_saved(void) {
  fb_loader* const first = open_numbers("{\"seed\": 7}");
  fb_loader* const second = open_numbers("{\"seed\": 7, \"threads\": 1}");
  fb_loader* const other = open_numbers("{\"seed\": 8}");
  fb_batch* batch = NULL;
  char* state = NULL;
  char* stats = NULL;
  int64_t rows = 0, more = 0;
  int i;
  for (i = 0; i < 5; ++i) {
    EXPECT(fb_next(first, -1, &batch) == FB_OK);
    EXPECT(fb_batch_free(batch) == FB_OK);
  }
  EXPECT(fb_state(first, &state) == FB_OK && state != NULL);
  EXPECT(fb_load_state(second, state, 1) == FB_OK);
  EXPECT(sum_of_epoch(first, &rows) == sum_of_epoch(second, &more));
  EXPECT(rows == kRows - 35 && more == rows);
  EXPECT(fb_load_state(other, state, 1) == FB_STATE_MISMATCH);
  EXPECT(strstr(fb_last_error_message(), "seed") != NULL);
  EXPECT(fb_load_state(other, state, 0) == FB_OK);
  EXPECT(fb_load_state(other, "{", 1) == FB_INVALID_ARGUMENT);
  EXPECT(fb_set_epoch(other, 3) == FB_OK);
  EXPECT(fb_stats(first, &stats) == FB_OK && strstr(stats, "\"batches\"") != NULL);
  EXPECT(fb_string_free(state) == FB_OK);
  EXPECT(fb_string_free(state) == FB_INVALID_ARGUMENT);
  EXPECT(fb_string_free(stats) == FB_OK);
  EXPECT(fb_string_free(NULL) == FB_OK);
  EXPECT(fb_loader_free(first) == FB_OK);
  EXPECT(fb_loader_free(second) == FB_OK);
  EXPECT(fb_loader_free(other) == FB_OK);
}

/* The first members of DLPack's tensor, which every version has. */
struct tensor_head {
  void* data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
  void* context;
  void (*deleter)(struct tensor_head*);
};

static void a_tensor_outlives_its_batch_and_loader(void) {
  fb_loader* const loader = open_numbers("{\"seed\": 7}");
  fb_batch* batch = NULL;
  struct DLManagedTensor* tensor = NULL;
  struct DLManagedTensorVersioned* versioned = NULL;
  struct tensor_head* head;
  int64_t first, i;
  EXPECT(fb_next(loader, 60000, &batch) == FB_OK);
  EXPECT(fb_batch_dlpack(batch, 0, 0, &tensor) == FB_OK);
  EXPECT(fb_batch_dlpack_versioned(batch, 0, 0, &versioned) == FB_OK);
  EXPECT(((uint32_t*)versioned)[0] == 1);
  (*(void (**)(struct DLManagedTensorVersioned*))((char*)versioned + 16))(versioned);
  versioned = NULL;
  EXPECT(fb_batch_dlpack(batch, 0, 1, (struct DLManagedTensor**)&versioned) == FB_INVALID_ARGUMENT);
  EXPECT(fb_batch_dlpack(batch, 1, 0, (struct DLManagedTensor**)&versioned) == FB_INVALID_ARGUMENT);
  head = (struct tensor_head*)tensor;
  EXPECT(head->device_type == 1 && head->ndim == 1 && head->shape[0] == 7 && head->strides[0] == 1);
  EXPECT(head->code == FB_INT && head->bits == 64 && head->lanes == 1 && head->byte_offset == 0);
  first = ((int64_t*)head->data)[0];
  EXPECT(fb_batch_free(batch) == FB_OK);
  for (i = 0; i < 8; ++i) {  /* what is freed too early would be filled again */
    EXPECT(fb_next(loader, -1, &batch) == FB_OK);
    EXPECT(fb_batch_free(batch) == FB_OK);
  }
  EXPECT(fb_loader_free(loader) == FB_OK);
  EXPECT(((int64_t*)head->data)[0] == first);
  head->deleter(head);
}

static void texts_are_values_and_offsets(void) {
  fb_loader* loader = NULL;
  fb_batch* batch = NULL;
  fb_field text;
  int32_t number = -1;
  const int64_t* offsets;
  memset(&text, 0, sizeof text);
  text.struct_size = sizeof text;
  EXPECT(fb_open(lines_pipeline(), NULL, &loader) == FB_OK);
  EXPECT(fb_next(loader, -1, &batch) == FB_OK);
  EXPECT(fb_batch_find(batch, "text", &number) == FB_OK);
  EXPECT(fb_batch_field(batch, number, &text) == FB_OK);
  EXPECT(text.kind == FB_TEXT && text.arrays == 2 && strcmp(text.name, "text") == 0);
  offsets = (const int64_t*)text.offsets.data;
  EXPECT(text.offsets.shape[0] == 4 && offsets[0] == 0 && offsets[3] == 11);
  EXPECT(memcmp(text.values.data, "onetwothree", 11) == 0);
  EXPECT(fb_batch_find(batch, "txet", &number) == FB_INVALID_ARGUMENT && number == -1);
  EXPECT(strstr(fb_last_error_message(), "text") != NULL);
  EXPECT(fb_batch_free(batch) == FB_OK);
  EXPECT(fb_loader_free(loader) == FB_OK);
}

static void what_makes_no_sense_is_refused(void) {
  fb_loader* loader = open_numbers("");
  fb_loader* none = (fb_loader*)&loader;
  fb_batch* batch = NULL;
  fb_batch_info info;
  fb_error error;
  memset(&info, 0, sizeof info);
  memset(&error, 0, sizeof error);
  error.struct_size = sizeof error;
  EXPECT(fb_open(NULL, NULL, &none) == FB_INVALID_ARGUMENT && none == NULL);
  EXPECT(fb_open(numbers_pipeline(), NULL, NULL) == FB_INVALID_ARGUMENT);
  EXPECT(fb_open("{", NULL, &none) == FB_INVALID_ARGUMENT);
  EXPECT(fb_open("{\"forebay_pipeline\": 1, \"steps\": []}", NULL, &none) == FB_INVALID_ARGUMENT);
  EXPECT(fb_open(numbers_pipeline(), "{\"sede\": 7}", &none) == FB_INVALID_ARGUMENT);
  EXPECT(strstr(fb_last_error_message(), "'seed'") != NULL);
  EXPECT(fb_open("{\"forebay_pipeline\": 1, \"steps\": [{\"op\": \"arrays\", \"fields\": {\"x\": \"/nowhere/x.npy\"}}, {\"op\": \"batch\", \"n\": 7}]}", NULL, &none) == FB_NOT_FOUND);
  EXPECT(fb_last_error(&error) == FB_OK && error.code == FB_NOT_FOUND && strstr(error.message, "/nowhere/x.npy") != NULL);
  EXPECT(error.sample == -1 && error.range_offset == -1);
  EXPECT(fb_last_error(NULL) == FB_INVALID_ARGUMENT);
  EXPECT(fb_next(NULL, -1, &batch) == FB_INVALID_ARGUMENT);
  EXPECT(fb_next(loader, -1, NULL) == FB_INVALID_ARGUMENT);
  EXPECT(fb_next(loader, -2, &batch) == FB_INVALID_ARGUMENT);
  EXPECT(fb_next((fb_loader*)&info, -1, &batch) == FB_INVALID_ARGUMENT);
  EXPECT(fb_state(loader, NULL) == FB_INVALID_ARGUMENT);
  EXPECT(fb_next(loader, -1, &batch) == FB_OK);
  EXPECT(fb_batch_describe(batch, NULL) == FB_INVALID_ARGUMENT);
  EXPECT(fb_batch_describe(batch, &info) == FB_INVALID_ARGUMENT);  /* struct_size is 0 */
  EXPECT(strstr(fb_last_error_message(), "sizeof(fb_batch_info)") != NULL);
  EXPECT(fb_batch_describe((fb_batch*)loader, &info) == FB_INVALID_ARGUMENT);
  EXPECT(fb_batch_free(batch) == FB_OK);
  EXPECT(fb_batch_free(batch) == FB_INVALID_ARGUMENT);
  EXPECT(fb_batch_free(NULL) == FB_OK);
  EXPECT(fb_loader_close(loader) == FB_OK);
  EXPECT(fb_loader_close(loader) == FB_OK);
  EXPECT(fb_next(loader, -1, &batch) == FB_INVALID_ARGUMENT);
  EXPECT(strstr(fb_last_error_message(), "closed") != NULL);
  EXPECT(fb_loader_free(loader) == FB_OK);
  EXPECT(fb_loader_free(loader) == FB_INVALID_ARGUMENT);
  EXPECT(fb_next(loader, -1, &batch) == FB_INVALID_ARGUMENT);
  EXPECT(fb_loader_free(NULL) == FB_OK);
}

/* A program that was compiled with a later header has longer structs: what this library does not know stays as it was. */
static void a_longer_struct_is_filled_as_far_as_it_is_known(void) {
  fb_loader* const loader = open_numbers("");
  struct {
    fb_loader_info known;
    int64_t later;
  } info;
  memset(&info, 0, sizeof info);
  info.known.struct_size = sizeof info;
  info.later = 42;
  EXPECT(fb_loader_describe(loader, &info.known) == FB_OK);
  EXPECT(info.known.samples == kRows && info.later == 42 && info.known.struct_size == sizeof info);
  EXPECT(fb_loader_free(loader) == FB_OK);
}

static void* close_soon(void* loader) {
  const struct timespec soon = {0, 50000000};
  nanosleep(&soon, NULL);
  fb_loader_close((fb_loader*)loader);
  return NULL;
}

/* A link so slow that no batch comes for seconds; opening asks it twice, and waits. */
static void a_wait_ends_in_time_and_when_the_loader_is_closed(void) {
  fb_loader* loader = NULL;
  fb_batch* batch = NULL;
  pthread_t thread;
  char options[] = "{\"threads\": 1, \"storage_options\": {\"imitate_latency_ms\": 4000}}";
  EXPECT(fb_open(lines_pipeline(), options, &loader) == FB_OK);
  if (loader == NULL) return;
  EXPECT(fb_next(loader, 20, &batch) == FB_TIMED_OUT && batch == NULL);
  pthread_create(&thread, NULL, close_soon, loader);
  EXPECT(fb_next(loader, -1, &batch) == FB_CANCELLED);
  pthread_join(thread, NULL);
  EXPECT(fb_loader_free(loader) == FB_OK);
}

static void* cancel_soon(void* canceller) {
  const struct timespec soon = {0, 50000000};
  nanosleep(&soon, NULL);
  fb_cancel((fb_canceller*)canceller);
  return NULL;
}

/* How long that takes, and which refusals there are: test_c_abi.py. */
static void an_opening_ends_when_it_is_cancelled_and_an_open_loader_does_not(void) {
  const char* slow = "{\"storage_options\": {\"imitate_latency_ms\": 20000}}";
  fb_canceller* canceller = NULL;
  fb_loader *open = NULL, *none = (fb_loader*)folder;
  pthread_t thread;
  int64_t rows = 0;
  EXPECT(fb_canceller_new(&canceller) == FB_OK && canceller != NULL);
  EXPECT(fb_open_cancellable(numbers_pipeline(), NULL, canceller, &open) == FB_OK);
  pthread_create(&thread, NULL, cancel_soon, canceller);
  EXPECT(fb_open_cancellable(lines_pipeline(), slow, canceller, &none) == FB_CANCELLED && none == NULL);
  pthread_join(thread, NULL);
  EXPECT(sum_of_epoch(open, &rows) == 4950);
  EXPECT(fb_loader_free(open) == FB_OK && fb_canceller_free(canceller) == FB_OK);
}

static void errors_are_of_their_thread_alone(void) {
  EXPECT(fb_next(NULL, -1, NULL) == FB_INVALID_ARGUMENT);
  EXPECT(strlen(fb_last_error_message()) > 0);
}

static void* see_no_error(void* text) {
  snprintf((char*)text, 64, "%s", fb_last_error_message());
  return NULL;
}

/* Not under AddressSanitizer: GCC 12's allocator for it is not made ready for a fork, so that a lock which a thread of the
   parent holds at that moment stays locked in the child for ever. Nor under ThreadSanitizer, which ends a child that begins threads. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static void the_child_of_a_fork_opens_its_own(void) {
  fb_loader* const loader = open_numbers("");
  fb_batch* batch = NULL;
  int status = -1;
  pid_t child;
  EXPECT(fb_next(loader, -1, &batch) == FB_OK);
  child = fork();
  if (child == 0) {
    fb_loader* mine = NULL;
    fb_batch* next = NULL;
    int bad = fb_next(loader, -1, &next) != FB_INVALID_ARGUMENT;
    bad |= fb_open(numbers_pipeline(), NULL, &mine) != FB_OK || mine == loader;
    bad |= fb_next(mine, -1, &next) != FB_OK || fb_loader_free(mine) != FB_OK;
    _exit(bad);
  }
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT(fb_batch_free(batch) == FB_OK);
  EXPECT(fb_loader_free(loader) == FB_OK);
}
#endif

int main(void) {
  char elsewhere[64] = "not looked";
  pthread_t thread;
  if (mkdtemp(folder) == NULL) return 2;
  write_numbers(path_of("x.npy"));
  write_lines(path_of("lines.txt"));
  EXPECT(fb_abi_version() == FB_ABI_VERSION);
  EXPECT(strlen(fb_version()) >= 5);
  EXPECT(strcmp(fb_code_name(FB_CORRUPT), "Corrupt") == 0 && strcmp(fb_code_name(12345), "Unknown") == 0);
  EXPECT(strcmp(fb_last_error_message(), "") == 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  the_child_of_a_fork_opens_its_own();
#endif
  epochs_end_and_then_all_is_finished();
  a_state_goes_on_where_it_was_saved();
  a_tensor_outlives_its_batch_and_loader();
  texts_are_values_and_offsets();
  what_makes_no_sense_is_refused();
  a_longer_struct_is_filled_as_far_as_it_is_known();
  a_wait_ends_in_time_and_when_the_loader_is_closed();
  an_opening_ends_when_it_is_cancelled_and_an_open_loader_does_not();
  errors_are_of_their_thread_alone();
  pthread_create(&thread, NULL, see_no_error, elsewhere);
  pthread_join(thread, NULL);
  EXPECT(strcmp(elsewhere, "") == 0);
  open_numbers("");  /* left open: the process ends all the same */
  unlink(path_of("x.npy"));
  unlink(path_of("lines.txt"));
  rmdir(folder);
  printf("%d broken promises\n", failures);
  return failures == 0 ? 0 : 1;
}
