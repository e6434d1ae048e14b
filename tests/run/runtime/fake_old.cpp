// A driver that lacks all but the first function.

extern "C" {
__attribute__((visibility("default"))) int cuInit(unsigned) { return 0; }
__attribute__((visibility("default"))) int hipInit(unsigned) { return 0; }
}
