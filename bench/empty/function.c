/* The function that both libraries measure: nothing, in a file of its own, so that it is called. */
void nothing(void *params);
void nothing(void *params)
{
    (void)params;
}
